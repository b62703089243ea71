// The reference, made from what the program itself goes by. Each archive of a release has that of
// its version, so that it can't be another's; `bun scripts/reference.ts` writes it in a checkout.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf"
import { book } from "../src/api/book.ts"
import { bindingsOf } from "../src/api/encoding/rest.ts"
import { type Access, access } from "../src/gen/core/options_pb.ts"
import { http } from "../src/gen/google/api/annotations_pb.ts"
import { keys, spelling } from "../src/kernel/config.ts"
import { root } from "./step.ts"

const made = "Made from the program itself, and for this version of it.\n"

type Row = readonly string[]

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ")

function table(heads: Row, rows: readonly Row[]): string {
  const lines = [heads, heads.map(() => "---"), ...rows]
  return lines.map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n")
}

const page = (title: string, ...parts: readonly string[]) =>
  `${[`# ${title}`, made, ...parts].join("\n\n").replaceAll("\n\n\n", "\n\n")}\n`

const code = (text: string) => `\`${text}\``

function configuration(): string {
  const rows = Object.entries(keys).map(([key, { from, hint, help }]) => [
    from.includes("flag") ? code(`${spelling.flag(key)} ${hint}`) : "",
    from.includes("env") ? code(spelling.env(key)) : "",
    from.includes("file") ? code(spelling.file(key)) : "",
    help,
  ])
  return page(
    "Every setting",
    "Flags win over the environment, that over the file, that over the defaults.",
    table(["Flag", "Environment", "File", "What it says"], rows),
  )
}

/** What a caller needs, in one line. */
function needs(rule: Access): string {
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

const pathsOf = (method: DescMethod): string =>
  hasOption(method, http)
    ? bindingsOf(method)
        .map(({ verb, path }) => code(`${verb} ${path}`))
        .join(" ")
    : ""

function api(): string {
  const parts = book.map(({ typeName, methods }) => {
    const rows = methods.map((method): Row => {
      const name = `${code(method.name)}${method.proto.options?.deprecated ? " (deprecated)" : ""}`
      return [name, pathsOf(method), needs(getOption(method, access))]
    })
    return `## ${typeName}\n\n${table(["Operation", "REST", "Needs"], rows)}`
  })
  return page(
    "Every operation",
    "By Connect, gRPC-Web and gRPC an operation is at `/SERVICE/OPERATION`; some have REST " +
      "paths, too. `/openapi` of a server says what goes in and comes out.",
    ...parts,
  )
}

/** The pages of the reference, by their files. */
export const reference: ReadonlyMap<string, () => string> = new Map([
  ["configuration.md", configuration],
  ["api.md", api],
])

/** Writes all of them into a folder. */
export function writeReference(folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, write] of reference) writeFileSync(join(folder, name), write())
}

if (import.meta.main) writeReference(join(root, "docs", "reference"))
