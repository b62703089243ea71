import { admin } from "./binding/v1.ts"

export { linesOf, takeLines } from "./binding/v1-line.ts"
export { noteExport, noteImport } from "./model.ts"
export { peopleOf, takePeople } from "./people.ts"

/** What this module answers of the book. */
export const shares = [admin] as const
