import * as z from "zod/mini"
import type { Format, Person, Read } from "../person.ts"
import { csvEntries } from "../source/csv.ts"
import { fileError } from "../source/text.ts"
import { columns, isYes, notedBefore } from "./column.ts"
import { shaped } from "./entry.ts"

const record = z.record(z.string(), z.string())

/** A table of people with names of columns in its first line; the README has the list. */
export const csv: Format = {
  help: "a table; its first line names the columns, such as user name, email, password hash",
  open: async (path) => ({
    entries: () => csvEntries(path, columnOf),
    read: (value) => read(shaped(record, value)),
  }),
}

const squeezed = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "")

/** The one name of a column, however it is spelled. */
function columnOf(name: string): string {
  if (name.toLowerCase().startsWith(notedBefore)) {
    return notedBefore + name.slice(notedBefore.length).trim()
  }
  const known = columns.find(({ names }) => names.some((each) => squeezed(each) === squeezed(name)))
  if (known?.names[0] !== undefined) return known.names[0]
  const all = columns.map(({ names }) => names[0]).join(", ")
  throw fileError(
    `the first line names a column "${name}", which isn't known; columns are ${all}, and ` +
      `"${notedBefore}KEY" for what is to be noted besides`,
  )
}

function read(given: Readonly<Record<string, string>>): Read {
  const known = Object.fromEntries(
    columns.flatMap(({ names: [name = ""], read: readColumn }) => {
      const text = given[name]
      return text === undefined ? [] : Object.entries(readColumn(fromTable(text)))
    }),
  )
  const notes = Object.entries(given).flatMap(([name, text]) =>
    name.startsWith(notedBefore) && text !== ""
      ? [[name.slice(notedBefore.length), fromTable(text)] as const]
      : [],
  )
  const { email, phone }: Partial<Read> = known
  return {
    userName: email?.value ?? "",
    ...known,
    ...(email && { email: { ...email, verified: isVerified(given, "email verified") } }),
    ...(phone && { phone: { ...phone, verified: isVerified(given, "phone verified") } }),
    metadata: Object.fromEntries(notes),
  }
}

const isVerified = (given: Readonly<Record<string, string>>, name: string): boolean =>
  isYes(name, given[name] ?? "")

/**
 * What begins like a formula gets a mark before it, so that no spreadsheet runs it (OWASP, "CSV
 * Injection"); so does what has such a mark already, and each way takes one off.
 */
const forTable = (text: string): string => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text)
const fromTable = (text: string): string => (/^'+[=+\-@\t\r]/.test(text) ? text.slice(1) : text)

const field = (text: string): string => `"${forTable(text).replaceAll('"', '""')}"`

/** The first line of a table of people, with columns for the keys that are noted about them. */
export const csvHead = (keys: readonly string[]): string =>
  [...columns.map(({ names: [name = ""] }) => name), ...keys.map((key) => notedBefore + key)]
    .map(field)
    .join(",")

/** A person as a line of it. */
export const csvLine = (person: Person, keys: readonly string[]): string =>
  [
    ...columns.map(({ write }) => write(person)),
    ...keys.map((key) => (Object.hasOwn(person.metadata, key) ? (person.metadata[key] ?? "") : "")),
  ]
    .map(field)
    .join(",")
