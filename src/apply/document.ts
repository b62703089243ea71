import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { Fault } from "../kernel/fault.ts"
import { isObject } from "./json.ts"

/** A description and the file that contains it. */
export type Document = { readonly file: string; readonly content: JsonObject }

type Env = Readonly<Record<string, string | undefined>>

/**
 * Reads a YAML file, or all `.yaml` and `.yml` files of a directory in the order of their names.
 * Any value can be `{ $env: NAME }` or `{ $file: PATH }`, so that secrets don't have to be in the
 * file. A path is relative to its file, and a trailing line break is removed.
 */
export function readDocuments(path: string, env: Env): readonly Document[] {
  return listFiles(path).map((file) => {
    const content = resolveValues(parseYaml(file), { file, env })
    if (!isObject(content))
      throw documentError(file, "the file must start with names such as users:")
    return { file, content }
  })
}

function listFiles(path: string): readonly string[] {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) throw documentError(path, "file or directory not found")
  if (!found.isDirectory()) return [path]
  const files = readdirSync(path)
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(path, name))
  if (files.length === 0) throw documentError(path, "the directory contains no .yaml or .yml files")
  return files
}

function parseYaml(file: string): JsonValue {
  const text = readFileSync(file, "utf8")
  try {
    // Converts YAML types that JSON lacks, such as dates, to their JSON form.
    return JSON.parse(JSON.stringify(Bun.YAML.parse(text) ?? {}))
  } catch (cause) {
    throw documentError(file, `invalid YAML: ${cause instanceof Error ? cause.message : cause}`)
  }
}

type DocumentSource = { readonly file: string; readonly env: Env }

function resolveValues(value: JsonValue, source: DocumentSource): JsonValue {
  if (Array.isArray(value)) return value.map((each) => resolveValues(each, source))
  if (!isObject(value)) return value
  const [[name = "", of] = [], ...others] = Object.entries(value)
  if (others.length === 0 && typeof of === "string") {
    if (name === "$env") return readEnv(of, source)
    if (name === "$file") return readFile(of, source)
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, resolveValues(each, source)]),
  )
}

function readEnv(name: string, { file, env }: DocumentSource): string {
  const value = env[name]
  if (value === undefined) throw documentError(file, `the environment variable ${name} is not set`)
  return value
}

function readFile(path: string, { file }: DocumentSource): string {
  const full = resolve(dirname(file), path)
  if (!statSync(full, { throwIfNoEntry: false })?.isFile()) {
    throw documentError(file, `file ${full} not found`)
  }
  return readFileSync(full, "utf8").replace(/\r?\n$/, "")
}

/** A fault in the description, with its location. */
export const documentError = (source: string, message: string): Fault =>
  new Fault("invalid_argument", "apply.invalid", `${source}: ${message}`)
