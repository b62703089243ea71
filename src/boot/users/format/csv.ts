import * as z from "zod/mini"
import { csvEntries } from "../source/csv.ts"
import { fileError } from "../source/text.ts"
import type { ReadUser, TransferUser, UserFormat } from "../user.ts"
import { columns, metadataPrefix, parseYesNo } from "./column.ts"
import { parseEntry } from "./entry.ts"

const record = z.record(z.string(), z.string())

/** A table of users with column names in the first line; the documentation lists them. */
export const csv: UserFormat = {
  help: "Table whose first line contains column names, such as user name, email, password hash",
  open: async (path) => ({
    entries: () => csvEntries(path, resolveColumn),
    read: (value) => read(parseEntry(record, value)),
  }),
}

const normalizeName = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "")

/** The first name of a column, from any of its spellings. */
function resolveColumn(name: string): string {
  if (name.toLowerCase().startsWith(metadataPrefix)) {
    return metadataPrefix + name.slice(metadataPrefix.length).trim()
  }
  const known = columns.find(({ names }) =>
    names.some((each) => normalizeName(each) === normalizeName(name)),
  )
  if (known?.names[0] !== undefined) return known.names[0]
  const all = columns.map(({ names }) => names[0]).join(", ")
  throw fileError(
    `unknown column "${name}" in the first line; columns are ${all}, and ` +
      `"${metadataPrefix}KEY" for metadata`,
  )
}

function read(recordValue: Readonly<Record<string, string>>): ReadUser {
  const known = Object.fromEntries(
    columns.flatMap(({ names: [name = ""], read: readColumn }) => {
      const text = recordValue[name]
      return text === undefined ? [] : Object.entries(readColumn(unescapeFormula(text)))
    }),
  )
  const notes = Object.entries(recordValue).flatMap(([name, text]) =>
    name.startsWith(metadataPrefix) && text !== ""
      ? [[name.slice(metadataPrefix.length), unescapeFormula(text)] as const]
      : [],
  )
  const { email, phone }: Partial<ReadUser> = known
  return {
    userName: email?.value ?? "",
    ...known,
    ...(email && { email: { ...email, verified: isVerified(recordValue, "email verified") } }),
    ...(phone && { phone: { ...phone, verified: isVerified(recordValue, "phone verified") } }),
    metadata: Object.fromEntries(notes),
  }
}

const isVerified = (recordValue: Readonly<Record<string, string>>, name: string): boolean =>
  parseYesNo(name, recordValue[name] ?? "")

/**
 * Escapes fields that look like a formula, so that spreadsheets don't run them (OWASP, "CSV
 * Injection"). A field that is already escaped is escaped again, and reading removes one level.
 */
const escapeFormula = (text: string): string => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text)
const unescapeFormula = (text: string): string =>
  /^'+[=+\-@\t\r]/.test(text) ? text.slice(1) : text

const formatField = (text: string): string => `"${escapeFormula(text).replaceAll('"', '""')}"`

/** The first line of a table of users, with a column for each metadata key. */
export const csvHeader = (keys: readonly string[]): string =>
  [...columns.map(({ names: [name = ""] }) => name), ...keys.map((key) => metadataPrefix + key)]
    .map(formatField)
    .join(",")

/** A user as a line of the table. */
export const csvLine = (person: TransferUser, keys: readonly string[]): string =>
  [
    ...columns.map(({ write }) => write(person)),
    ...keys.map((key) => (Object.hasOwn(person.metadata, key) ? (person.metadata[key] ?? "") : "")),
  ]
    .map(formatField)
    .join(",")
