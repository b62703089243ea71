import { openWorkerStore } from "../support/worker-store.ts"
import { openFile, temporaryFile } from "./account.ts"
import { logConformance } from "./conformance.ts"

logConformance("the log of a worker, which another process writes", async (modules) => {
  const { file, remove } = temporaryFile()
  const writing = openFile(file, modules)
  const { store } = openWorkerStore(writing, { file, ...modules })
  return {
    store,
    close: async () => {
      await store.close()
      await writing.close()
      remove()
    },
  }
})
