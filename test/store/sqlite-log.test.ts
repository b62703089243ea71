import { openFile, temporaryFile } from "./account.ts"
import { logConformance } from "./conformance.ts"

logConformance("the log in SQLite", async (modules) => {
  const { file, remove } = temporaryFile()
  const store = openFile(file, modules)
  return {
    store,
    close: async () => {
      await store.close()
      remove()
    },
  }
})
