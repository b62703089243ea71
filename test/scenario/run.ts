import type { DescMethod, DescMethodUnary } from "@bufbuild/protobuf"
import { book } from "../../src/api/book.ts"
import { makerIn } from "./caller.ts"
import type { House } from "./house.ts"
import type { Row } from "./row.ts"
import { thingsOf } from "./things.ts"
import { type Told, type Way, waysOf } from "./ways.ts"

const isUnary = (method: DescMethod): method is DescMethodUnary => method.methodKind === "unary"

/** The book, by the names that rows use. */
export const methods: ReadonlyMap<string, DescMethodUnary> = new Map(
  book
    .flatMap(({ methods }): readonly DescMethod[] => methods)
    .filter(isUnary)
    .map((method) => [`${method.parent.typeName}/${method.name}`.slice("core.".length), method]),
)

export function methodOf(call: string): DescMethodUnary {
  const method = methods.get(call)
  if (!method) throw new Error(`the book has no operation core.${call}`)
  return method
}

export type Outcome = Told & { readonly events: readonly string[]; readonly expected: object }

/** Runs a row in one way, in a household of its own. */
export async function runRow(house: House, row: Row, way: Way): Promise<Outcome> {
  const make = makerIn(house)
  const things = thingsOf(make, house)
  const headers = { ...house.headers, ...(await things.headersOf(row.as ?? "manager")) }
  const body = await things.fill({ ...row.body })
  for (const [call, given] of row.given ?? []) await make(call, await things.fill({ ...given }))
  await house.forget()
  const told = await way({ ...house, method: methodOf(row.call), body, headers })
  const events = await house.written()
  return { ...told, events, expected: await things.fill({ ...row.expect }) }
}

/** Every way to the operation of a row. */
export const waysTo = ({ call }: Row) => waysOf(methodOf(call))
