import { openBeside } from "../support/beside.ts"
import { openFile, temporaryFile } from "./account.ts"
import { logConformance } from "./conformance.ts"

logConformance("the log of a worker, which another process writes", async (modules) => {
  const { file, remove } = temporaryFile()
  const writing = openFile(file, modules)
  const { store } = openBeside(writing, { file, ...modules })
  return {
    store,
    close: async () => {
      await store.close()
      await writing.close()
      remove()
    },
  }
})
