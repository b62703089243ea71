import { aggregate, type Event } from "../../src/store/index.ts"
import { openFile, temporaryFile } from "./account.ts"
import { logConformance, type noteTypes } from "./conformance.ts"

type NoteEvent = Event<(typeof noteTypes)[number]>

logConformance("the log in SQLite", async (apply) => {
  const each = (_: null, event: Parameters<typeof apply>[0]) => {
    apply(event)
    return null
  }
  const note = aggregate<NoteEvent, null>({
    stream: "note",
    initial: null,
    evolve: { "note.added": each, "note.changed": each, "note.erased": each },
  })
  const { file, remove } = temporaryFile()
  const store = openFile(file, { aggregates: [note], views: [] })
  return {
    log: store.log,
    close: async () => {
      await store.close()
      remove()
    },
  }
})
