// What the pages of the reference are written with.
import type { Access } from "../src/gen/core/options_pb.ts"

const made = "Made from the program itself, and for this version of it.\n"

export type Row = readonly string[]

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ")

export function table(heads: Row, rows: readonly Row[]): string {
  const lines = [heads, heads.map(() => "---"), ...rows]
  return lines.map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n")
}

export const page = (title: string, ...parts: readonly string[]) =>
  `${[`# ${title}`, made, ...parts].join("\n\n").replaceAll("\n\n\n", "\n\n")}\n`

export const code = (text: string) => `\`${text}\``

/** What a caller needs, in one line. */
export function needs(rule: Access): string {
  if (rule.public) return "nothing"
  if (rule.either.length > 0) return [...new Set(rule.either.map(needs))].join(" or ")
  if (rule.authenticated) return "a token"
  const held =
    rule.permission && `${code(rule.permission)}${rule.resource && ` on ${rule.resource}`}`
  const self =
    rule.self && (rule.self === "authenticated" ? "oneself" : `oneself with ${code(rule.self)}`)
  const system = rule.system && `a system user with ${code(rule.system)}`
  return [held, self, system].filter((each) => each !== "").join(", or ")
}
