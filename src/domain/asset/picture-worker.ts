import { runPictureProcess } from "./picture/process.ts"

// Reads one picture, and ends. Compiled, the program itself is started for that.
await runPictureProcess(process.argv.slice(2))
