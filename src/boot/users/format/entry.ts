import * as z from "zod/mini"
import { Fault } from "../../../kernel/fault.ts"
import type { Part } from "../names.ts"
import { jsonEntries } from "../source/json.ts"
import type { Loss, UserSource } from "../user.ts"

/** Why an entry can't be imported. */
export const entryError = (message: string) =>
  new Fault("invalid_argument", "people.entry", message)

/** Parses an entry with its schema; ignores additional fields. */
export function parseEntry<T>(schema: z.ZodMiniType<T>, value: unknown): T {
  const found = z.safeParse(schema, value)
  if (found.success) return found.data
  const [issue] = found.error.issues
  const fieldPath = issue?.path.join(".") ?? ""
  throw entryError(
    fieldPath === "" ? "the entry is not a user" : `${fieldPath} is missing or has the wrong type`,
  )
}

/** A JSON file whose entries are parsed with a schema. */
export const jsonSource = <T>(
  path: string,
  schema: z.ZodMiniType<T>,
  read: (value: T) => ReturnType<UserSource["read"]>,
): UserSource => ({
  entries: () => jsonEntries(path),
  read: (value) => read(parseEntry(schema, value)),
})

/** The result of a conversion, or why it is not possible. */
export type Conversion = { readonly value: string } | { readonly reason: string }

/**
 * The converted text. If the conversion is not possible, adds the reason to `lost` and returns an
 * empty text.
 */
export function valueOrLoss(
  losses: Loss[],
  part: Part,
  conversion: Conversion | undefined,
): string {
  if (!conversion) return ""
  if ("value" in conversion) return conversion.value
  losses.push({ part, why: conversion.reason })
  return ""
}

/** A metadata value: a string unchanged, anything else as JSON. */
export const metadataText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value)

/** Some products omit the field, others write null. */
export const optionalOrNull = <T extends z.ZodMiniType>(schema: T) => z.optional(z.nullable(schema))
