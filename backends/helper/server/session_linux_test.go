package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// over reports whether the session is to end.
func over(s *session) bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// A client that comes back as its lease ends, and goes again before the end is
// looked at, has a whole lease once more (hazard PROC-04).
func TestPROC04TheEndOfALeaseDoesNotEndTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 10 * time.Minute
		h := hello()
		h.Lease = lease
		s := newSession(Options{}, *h)
		visit := func() {
			c := &conn{session: s}
			if _, err := s.join(c); err != nil {
				t.Fatal(err)
			}
			s.part(c)
		}
		visit()
		<-time.After(lease - time.Nanosecond)
		visit()
		s.expire() // of the first lease, late
		if over(s) {
			t.Fatal("the lease that has just begun was ended")
		}
		<-time.After(lease - time.Nanosecond)
		synctest.Wait()
		if over(s) {
			t.Error("the lease was ended too early")
		}
		<-time.After(time.Nanosecond)
		synctest.Wait()
		if !over(s) {
			t.Error("the lease does not end")
		}
		s.cancel()
	})
}
