import type { DescMethodUnary } from "@bufbuild/protobuf"
import { call, useReadIfAllowed } from "../shell/call.ts"
import { unless } from "../shell/refusal.ts"
import type { Field, Policy, Values } from "./policy.ts"

/** The organisation that says it; undefined: the instance. */
export type Place = string | undefined

/** What holds at a place, and who says so. */
export type Standing = {
  readonly values: Values
  /** Whether the organisation says it itself. */
  readonly isOwn: boolean
  /** What the instance says, as far as one may see that. */
  readonly inherited: Values | undefined
  /** Everything that was said, also what no form shows. */
  readonly said: object
}

const unchanged = "policy.unchanged"

const at = (place: Place) => (place === undefined ? {} : { within: place })

/** What a policy says at a place; undefined where one may not see it. */
export function usePolicy(policy: Policy, place: Place): Standing | undefined {
  const { instance, organization } = policy
  const isInstance = place === undefined
  const present = useReadIfAllowed(isInstance ? instance.get : organization.get, {}, at(place))
  const above = useReadIfAllowed(isInstance ? instance.get : organization.inherited, {}, at(place))
  if (!present) return undefined
  const said = saidIn(present)
  return {
    said,
    values: valuesOf(policy, said),
    isOwn: !isInstance && Reflect.get(said, "isDefault") !== true,
    inherited: above && valuesOf(policy, saidIn(above)),
  }
}

function saidIn(answer: object): object {
  const said: unknown = Reflect.get(answer, "policy")
  if (typeof said === "object" && said !== null) return said
  throw new Error("the server has answered without the policy that was asked for")
}

const valuesOf = ({ fields }: Policy, said: object): Values =>
  Object.fromEntries(fields.map((field) => [field.name, shownOf(field, said)]))

function shownOf(field: Field, said: object): string | boolean {
  const value: unknown = Reflect.get(said, field.name)
  if (field.kind === "check") return value === true
  return field.kind === "color" && value === field.unsaid ? "" : String(value)
}

/** Says at a place what a form holds. What the form doesn't show stays as it is. */
export async function savePolicy(
  policy: Policy,
  place: Place,
  { said, isOwn }: Standing,
  values: Values,
): Promise<void> {
  const { instance, organization } = policy
  const own = isOwn ? organization.update : organization.add
  const method = place === undefined ? instance.update : own
  const kept = method.input.fields.map(({ localName }) => [localName, countable(said, localName)])
  const changed = policy.fields.map((field) => [field.name, wantedOf(field, values)])
  const wanted = Object.fromEntries([...kept, ...changed])
  await unless(unchanged, call(method, { ...wanted, ...named(method, place) }, at(place)))
  const { activate } = place === undefined ? instance : organization
  if (activate) await unless(unchanged, call(activate, {}, at(place)))
}

/** Answers count in 64 bits, requests in 32. */
function countable(said: object, name: string): unknown {
  const value: unknown = Reflect.get(said, name)
  return typeof value === "bigint" ? Number(value) : value
}

function wantedOf({ name, kind }: Field, values: Values): unknown {
  return kind === "count" || kind === "choice" ? Number(values[name]) : values[name]
}

/** Takes back what the organisation says itself. */
export async function resetPolicy(policy: Policy, place: Place): Promise<void> {
  const { reset } = policy.organization
  await call(reset, named(reset, place), at(place))
}

/** Operations of the instance name the organisation; the others mean the one of the header. */
const named = ({ input }: DescMethodUnary, place: Place) =>
  input.fields.some(({ localName }) => localName === "orgId") ? { orgId: place } : {}
