import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { filesBelow, root } from "./step.ts"

/**
 * Writes the comments of operations in the .proto files, which descriptors don't contain, as a
 * TypeScript module.
 */
export function writeComments(): void {
  const files = filesBelow(join(root, "proto", "core")).filter((file) => file.endsWith(".proto"))
  const all = files.sort().flatMap((file) => commentsIn(readFileSync(file, "utf8")))
  const text = JSON.stringify(Object.fromEntries(all), undefined, 2)
  const literal = `export const comments: Readonly<Record<string, string>> = ${text}\n`
  writeFileSync(join(root, "src/gen/comments.ts"), literal)
}

/** Each operation's full name, with the comment directly before it. */
function commentsIn(text: string): readonly (readonly [string, string])[] {
  const currentService = /^package ([\w.]+);/m.exec(text)?.[1] ?? ""
  let service = ""
  let lines: string[] = []
  return text.split("\n").flatMap((line) => {
    const comment = /^\s*\/\/ ?(.*)$/.exec(line)?.[1]
    if (comment !== undefined) {
      lines.push(comment)
      return []
    }
    service = /^service (\w+)/.exec(line)?.[1] ?? service
    const name = /^\s+rpc (\w+)\(/.exec(line)?.[1]
    const commentLines = lines.join(" ")
    lines = []
    return name === undefined
      ? []
      : [[`${currentService}.${service}/${name}`, commentLines] as const]
  })
}
