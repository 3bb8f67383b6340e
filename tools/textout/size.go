package textout

import "fmt"

// FormatSize writes a number of bytes for people, in units of 1024: 512B,
// 1.5KB, 3.2MB, 4.0GB.
func FormatSize(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%dB", n)
	}
	size := float64(n) / (1 << 10)
	units := []string{"KB", "MB", "GB"}
	for size >= 1023.95 && len(units) > 1 { // it would be written as 1024.0
		size /= 1 << 10
		units = units[1:]
	}
	return fmt.Sprintf("%.1f%s", size, units[0])
}
