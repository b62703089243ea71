import { aggregate, type Event, type Recorded, view } from "../../src/store/index.ts"
import { openFile, temporaryFile } from "./account.ts"
import { logConformance, type noteTypes } from "./conformance.ts"

type NoteEvent = Event<(typeof noteTypes)[number]>

logConformance("the log in SQLite", async (apply) => {
  const nothing = () => null
  const note = aggregate<NoteEvent, null>({
    stream: "note",
    initial: null,
    evolve: { "note.added": nothing, "note.changed": nothing, "note.erased": nothing },
  })
  const each = (_: unknown, event: Recorded<NoteEvent>) => apply({ ...event, erase: null })
  const applied = view<NoteEvent>({
    name: "applied",
    tables: { applied: { columns: "id TEXT NOT NULL", key: "id" } },
    on: { "note.added": each, "note.changed": each, "note.erased": each },
  })
  const { file, remove } = temporaryFile()
  const store = openFile(file, { aggregates: [note], views: [applied] })
  return {
    log: store.log,
    close: async () => {
      await store.close()
      remove()
    },
  }
})
