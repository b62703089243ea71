import { type Format, person } from "../person.ts"
import { jsonSource } from "./entry.ts"

/** What `latchkey users export --format json` writes: a person on each line. */
export const own: Format = {
  help: "what latchkey users export --format json writes",
  open: async (path) => jsonSource(path, person, (given) => given),
}
