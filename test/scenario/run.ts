import type { DescMethod, DescMethodUnary } from "@bufbuild/protobuf"
import { allServices } from "../../src/api/book.ts"
import { makerIn } from "./caller.ts"
import type { TestServer } from "./house.ts"
import type { Row } from "./row.ts"
import { createRowResources } from "./things.ts"
import { type CallEncoding, type CallResult, encodingsOf } from "./ways.ts"

const isUnary = (method: DescMethod): method is DescMethodUnary => method.methodKind === "unary"

/** The methods of the API, by the names in rows. */
export const methods: ReadonlyMap<string, DescMethodUnary> = new Map(
  allServices
    .flatMap(({ methods }): readonly DescMethod[] => methods)
    .filter(isUnary)
    .map((method) => [`${method.parent.typeName}/${method.name}`.slice("core.".length), method]),
)

export function requireMethod(call: string): DescMethodUnary {
  const method = methods.get(call)
  if (!method) throw new Error(`the book has no operation core.${call}`)
  return method
}

export type Outcome = CallResult & { readonly events: readonly string[]; readonly expected: object }

/** Runs a row in one encoding, with separate resources. */
export async function runRow(
  house: TestServer,
  row: Row,
  encoding: CallEncoding,
): Promise<Outcome> {
  const make = makerIn(house)
  const things = createRowResources(make, house)
  const headers = { ...house.headers, ...(await things.headersOf(row.as ?? "manager")) }
  const body = await things.fill({ ...row.body })
  for (const [call, given] of row.given ?? []) await make(call, await things.fill({ ...given }))
  await house.forget()
  const told = await encoding({ ...house, method: requireMethod(row.call), body, headers })
  const events = await house.written()
  return { ...told, events, expected: await things.fill({ ...row.expect }) }
}

/** Every encoding of the operation of a row. */
export const encodingsFor = ({ call }: Row) => encodingsOf(requireMethod(call))
