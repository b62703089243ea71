// Formatting helpers for the pages of the reference.
import type { Access } from "../src/gen/core/options_pb.ts"

const generatedNotice = "Generated from the source code of this version.\n"

export type Row = readonly string[]

const escapeCell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ")

export function formatTable(header: Row, rows: readonly Row[]): string {
  const lines = [header, header.map(() => "---"), ...rows]
  return lines.map((row) => `| ${row.map(escapeCell).join(" | ")} |`).join("\n")
}

export const formatPage = (title: string, ...parts: readonly string[]) =>
  `${[`# ${title}`, generatedNotice, ...parts].join("\n\n").replaceAll("\n\n\n", "\n\n")}\n`

export const inlineCode = (text: string) => `\`${text}\``

/** What a caller needs for an operation, in one line. */
export function formatRequirements(rule: Access): string {
  if (rule.public) return "nothing"
  if (rule.either.length > 0) return [...new Set(rule.either.map(formatRequirements))].join(" or ")
  if (rule.authenticated) return "a token"
  const permission =
    rule.permission && `${inlineCode(rule.permission)}${rule.resource && ` on ${rule.resource}`}`
  const self =
    rule.self && (rule.self === "authenticated" ? "oneself" : `your own ${inlineCode(rule.self)}`)
  const system = rule.system && `a system user with ${inlineCode(rule.system)}`
  return [permission, self, system].filter((each) => each !== "").join(", or ")
}
