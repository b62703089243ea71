import { admin } from "./binding/v1.ts"

export { linesOf, takeLines } from "./binding/v1-line.ts"
export { noteImport } from "./model.ts"

/** What this module answers of the book. */
export const shares = [admin] as const
