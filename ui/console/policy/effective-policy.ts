import type { DescMethodUnary } from "@bufbuild/protobuf"
import { isSame } from "../form/index.ts"
import { call, unless, useReadIfAllowed } from "../shell/index.ts"
import { chosenIn, requestValueOf, storedValuesOf, valuesOf } from "./field-values.ts"
import type { Field, Policy, PolicyFields, PolicyOwner, Values } from "./policy.ts"

/** What holds at a place, and who says so. */
export type EffectivePolicy = {
  readonly values: Values
  /** Whether the organisation says it itself. */
  readonly isOwn: boolean
  /** What the instance says, as far as one may see that. */
  readonly inherited: Values | undefined
  /** All of the message, also what no form shows. */
  readonly message: PolicyFields
}

const unchanged = "policy.unchanged"

export const at = (place: PolicyOwner) => (place === undefined ? {} : { within: place })

/** What a policy says at a place; undefined where one may not see it. */
export function usePolicy(policy: Policy, place: PolicyOwner): EffectivePolicy | undefined {
  const { instance, organization } = policy
  const isInstance = place === undefined
  const present = useReadIfAllowed(isInstance ? instance.get : organization.get, {}, at(place))
  const above = useReadIfAllowed(isInstance ? instance.get : organization.inherited, {}, at(place))
  if (!present) return undefined
  const message = policyIn(present)
  return {
    message,
    values: valuesOf(policy, message),
    isOwn: !isInstance && message.isDefault !== true,
    inherited: above && valuesOf(policy, policyIn(above)),
  }
}

/** The policy in an answer. */
export function policyIn<Message>(answer: { readonly policy?: Message | undefined }): Message {
  if (answer.policy !== undefined) return answer.policy
  throw new Error("the server has answered without the policy that was asked for")
}

type SavePolicyInput = {
  readonly standing: EffectivePolicy
  readonly values: Values
  readonly stored?: (part: Values) => void
}

/**
 * Says at a place what a form holds. What the form doesn't show stays as it is. What is said one by
 * one is allowed before the rest and taken away after it, so that nothing lacks what it needs; the
 * rest is sent only if it changes. `stored` is called with what each of these calls has changed.
 */
export async function savePolicy(
  policy: Policy,
  place: PolicyOwner,
  { standing, values, stored }: SavePolicyInput,
): Promise<void> {
  const { instance, organization } = policy
  const message = new Map(Object.entries<unknown>({ ...standing.message }))
  const own = standing.isOwn ? organization.update : organization.add
  const method = place === undefined ? instance.update : own
  const kept = method.input.fields
    .filter((field) => field.fieldKind !== "list" || field.listKind !== "message")
    .map(({ localName }) => [localName, inRequest(message.get(localName))] as const)
  const changed = policy.fields.map((field) => [field.name, requestValueOf(field, values)] as const)
  const request = Object.fromEntries([...kept, ...changed])
  const isSent = ({ name }: Field) => method.input.field[name] !== undefined
  const turns = policy.fields
    .filter((field) => !isSent(field))
    .flatMap((field) => turnsOf(field, place, standing.values, values))
  const rest = policy.fields.filter(isSent)
  const differs = rest.some(({ name }) => !isSame(values[name], standing.values[name]))
  let now = standing.values
  const takeAll = async (isOn: boolean) => {
    for (const turn of turns.filter((each) => each.isOn === isOn)) {
      await take(turn, place)
      const part = afterTurn(now, turn)
      now = { ...now, ...part }
      stored?.(part)
    }
  }
  await takeAll(true)
  const copy = method === organization.add ? await organization.copyInherited?.(place) : undefined
  if (differs || method === organization.add) {
    await unless(unchanged, call(method, { ...request, ...named(method, place) }, at(place)))
    stored?.(storedValuesOf(rest, values))
  }
  await takeAll(false)
  await copy?.()
  const { activate } = place === undefined ? instance : organization
  if (activate) await unless(unchanged, call(activate, {}, at(place)))
}

type FactorSwitch = {
  readonly name: string
  readonly method: DescMethodUnary
  readonly type: number
  readonly isOn: boolean
}

/** A field once one more is allowed, or one less, in the order of the server. */
function afterTurn(values: Values, { name, type, isOn }: FactorSwitch): Values {
  const others = chosenIn(values[name]).filter((each) => each !== String(type))
  return { [name]: isOn ? [...others, String(type)] : others }
}

function turnsOf(
  field: Field,
  place: PolicyOwner,
  before: Values,
  after: Values,
): readonly FactorSwitch[] {
  if (field.kind !== "several") return []
  const { add, remove } = place === undefined ? field.instance : field.organization
  const had = chosenIn(before[field.name])
  const has = chosenIn(after[field.name])
  return field.options.flatMap(({ value }) => {
    const isOn = has.includes(value)
    const type = Number(value)
    if (isOn === had.includes(value)) return []
    return [{ name: field.name, method: isOn ? add : remove, type, isOn }]
  })
}

/** What a try before this one has done already is done. */
const take = ({ method, type, isOn }: FactorSwitch, place: PolicyOwner) =>
  unless(isOn ? "policy.factor_exists" : "policy.factor_missing", call(method, { type }, at(place)))

/** Answers count in 64 bits, requests in 32. */
const inRequest = (value: unknown): unknown => (typeof value === "bigint" ? Number(value) : value)

/** Takes back what the organisation says itself. */
export async function resetPolicy(policy: Policy, place: PolicyOwner): Promise<void> {
  const { reset } = policy.organization
  await call(reset, named(reset, place), at(place))
}

/** Operations of the instance name the organisation; the others mean the one of the header. */
const named = ({ input }: DescMethodUnary, place: PolicyOwner) =>
  input.fields.some(({ localName }) => localName === "orgId") ? { orgId: place } : {}
