import { runPictureProcess } from "./picture/process.ts"

// Decodes one picture and exits. In the compiled binary, the program itself is started for that.
await runPictureProcess(process.argv.slice(2))
