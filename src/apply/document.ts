import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { Fault } from "../kernel/fault.ts"
import { isObject } from "./json.ts"

/** What is described, and in which file it begins. */
export type Document = { readonly file: string; readonly content: JsonObject }

type Env = Readonly<Record<string, string | undefined>>

/**
 * Reads a file of YAML, or all `.yaml` and `.yml` files of a folder in the order of their names.
 * In place of any value may stand `{ $env: NAME }` or `{ $file: PATH }`, so that no secret has to
 * lie beside what is described; a path is relative to its file, and a last line end is not part of
 * the value.
 */
export function readDocuments(path: string, env: Env): readonly Document[] {
  return filesAt(path).map((file) => {
    const content = filled(parse(file), { file, env })
    if (!isObject(content)) throw documentError(file, "it must begin with names such as users:")
    return { file, content }
  })
}

function filesAt(path: string): readonly string[] {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw documentError(path, "there is no such file or folder")
  if (!found.isDirectory()) return [path]
  const files = readdirSync(path)
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(path, name))
  if (files.length === 0) throw documentError(path, "no file in it ends in .yaml or .yml")
  return files
}

function parse(file: string): JsonValue {
  const text = readFileSync(file, "utf8")
  try {
    // What YAML knows beyond JSON, a date for example, becomes what JSON makes of it.
    return JSON.parse(JSON.stringify(Bun.YAML.parse(text) ?? {}))
  } catch (cause) {
    throw documentError(file, `it is no YAML: ${cause instanceof Error ? cause.message : cause}`)
  }
}

type Place = { readonly file: string; readonly env: Env }

function filled(value: JsonValue, place: Place): JsonValue {
  if (Array.isArray(value)) return value.map((each) => filled(each, place))
  if (!isObject(value)) return value
  const [[name = "", of] = [], ...others] = Object.entries(value)
  if (others.length === 0 && typeof of === "string") {
    if (name === "$env") return fromEnv(of, place)
    if (name === "$file") return fromFile(of, place)
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, place)]))
}

function fromEnv(name: string, { file, env }: Place): string {
  const value = env[name]
  if (value === undefined) throw documentError(file, `the environment has no variable ${name}`)
  return value
}

function fromFile(path: string, { file }: Place): string {
  const full = resolve(dirname(file), path)
  if (!statSync(full, { throwIfNoEntry: false })?.isFile()) {
    throw documentError(file, `there is no file ${full}`)
  }
  return readFileSync(full, "utf8").replace(/\r?\n$/, "")
}

/** What is wrong with what is described, and where. */
export const documentError = (place: string, message: string): Fault =>
  new Fault("invalid_argument", "apply.invalid", `${place}: ${message}`)
