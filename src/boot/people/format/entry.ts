import * as z from "zod/mini"
import { Fault } from "../../../kernel/fault.ts"
import type { Part } from "../names.ts"
import type { Lost, Source } from "../person.ts"
import { jsonEntries } from "../source/json.ts"

/** Why an entry can't be taken over. */
export const entryError = (message: string) =>
  new Fault("invalid_argument", "people.entry", message)

/** Reads an entry by its shape; what it says beyond that is let be. */
export function shaped<T>(schema: z.ZodMiniType<T>, value: unknown): T {
  const found = z.safeParse(schema, value)
  if (found.success) return found.data
  const [issue] = found.error.issues
  const where = issue?.path.join(".") ?? ""
  throw entryError(where === "" ? "this is no person" : `${where} is missing or of another kind`)
}

/** A file of JSON, read by a shape. */
export const jsonSource = <T>(
  path: string,
  schema: z.ZodMiniType<T>,
  read: (value: T) => ReturnType<Source["read"]>,
): Source => ({
  entries: () => jsonEntries(path),
  read: (value) => read(shaped(schema, value)),
})

/** What something could be made of, or why not. */
export type Made = { readonly value: string } | { readonly why: string }

/** The text that was made; why there is none goes into what is lost. */
export function takenOf(lost: Lost[], part: Part, made: Made | undefined): string {
  if (!made) return ""
  if ("value" in made) return made.value
  lost.push({ part, why: made.why })
  return ""
}

/** A text for metadata: as it is, or as JSON. */
export const noted = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value)

/** What some products leave out, and others write as null. */
export const maybe = <T extends z.ZodMiniType>(schema: T) => z.optional(z.nullable(schema))
