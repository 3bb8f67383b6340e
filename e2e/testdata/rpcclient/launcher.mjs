// The client runs its program by node: this starts the binary in its place.
import { spawn } from "node:child_process";

const child = spawn(process.env.PIREMOTE_BINARY, process.argv.slice(2), { stdio: "inherit" });
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => process.exit(signal ? 1 : code));
