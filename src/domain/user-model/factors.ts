import type { Editor, Event } from "../../store/index.ts"
import {
  codeOrigin,
  combineOrigin,
  credentialKindOf,
  type Origin,
  originWithInherited,
  recordedOrigin,
  type WithOrigins,
  withOriginOf,
} from "./origins.ts"
import type { Factors, Human, KeyKind, KeySecret, User, WebAuthnKey } from "./state.ts"

/** Events of authentication factors besides the password. */
export type FactorEvent =
  | Event<"user.human.mfa.otp.added", Record<never, never>, { readonly sealed: string }>
  | Event<"user.human.mfa.otp.verified">
  | Event<"user.human.mfa.otp.removed", RemovalData>
  | Event<"user.human.mfa.otp.email.added">
  | Event<"user.human.mfa.otp.email.removed", RemovalData>
  | Event<"user.human.mfa.otp.sms.added">
  | Event<"user.human.mfa.otp.sms.removed", RemovalData>
  | Event<
      "user.human.mfa.recoverycode.added",
      { readonly count: number },
      { readonly hashes: readonly string[] }
    >
  | Event<"user.human.mfa.recoverycode.used", { readonly at: number }>
  | Event<"user.human.mfa.recoverycode.removed", RemovalData>
  | Event<"user.human.mfa.init.skipped">
  | KeyEvent<"user.human.mfa.u2f.token">
  | KeyEvent<"user.human.passwordless.token">
  | Event<
      "user.human.passwordless.token.renamed",
      { readonly tokenId: string },
      { readonly name: string }
    >
  | Event<
      "user.human.passwordless.initialization.code.added",
      {
        readonly codeId: string
        readonly expires: number
        readonly returned: boolean
        readonly urlTemplate: string
      },
      { readonly sealed: string }
    >
  | Event<"user.human.passwordless.initialization.code.used", { readonly codeId: string }>

/**
 * The session in which the user removed the factor, which stays active; absent if all sessions end.
 */
type RemovalData = { readonly keeps?: string }

type KeyEvent<Stem extends string> =
  | Event<
      `${Stem}.added`,
      {
        readonly tokenId: string
        readonly rpId: string
        /** The registration link; absent if the user was signed in. */
        readonly codeId?: string
      },
      { readonly challenge: string }
    >
  | Event<
      `${Stem}.verified`,
      {
        readonly tokenId: string
        readonly aaguid: string
        readonly signCount: number
        /** Created with the account, in place of a password. */
        readonly isFirst?: boolean
      },
      KeySecret
    >
  | Event<`${Stem}.removed`, RemovalData & { readonly tokenId: string }>
  | Event<`${Stem}.signcount.changed`, { readonly tokenId: string; readonly signCount: number }>

/** The state before any factor is set up. */
export const noFactors: Factors = {
  otpEmail: false,
  otpSms: false,
  keys: {},
  recoveryCodes: [],
  skipped: 0,
  removedIn: 0,
}

type EventInfo = {
  readonly id: string
  readonly editor: Editor
  readonly time: number
  readonly version: number
}

type EventInput<Type extends FactorEvent["type"]> = EventInfo &
  Pick<Extract<FactorEvent, { type: Type }>, "data" | "private">

type FactorReducers = {
  readonly [Type in FactorEvent["type"]]: (state: User, event: EventInput<Type>) => User
}

/** Reducers for these events; part of the user's `evolve`. */
export const factorReducers: FactorReducers = {
  "user.human.mfa.otp.added": (state, event) =>
    changeFactors(state, event, () => ({
      totp: event.private ? { sealed: event.private.sealed, verified: false } : undefined,
    })),
  "user.human.mfa.otp.verified": (state, event) =>
    changeFactors(state, event, ({ totp }) => ({ totp: totp && { ...totp, verified: true } })),
  "user.human.mfa.otp.removed": (state, event) =>
    changeFactors(state, event, (factors) => ({
      totp: undefined,
      ...(factors.totp?.verified && removeFactor(factors, event)),
    })),
  "user.human.mfa.otp.email.added": (state, event) =>
    changeFactors(state, event, () => ({ otpEmail: true })),
  "user.human.mfa.otp.email.removed": (state, event) =>
    changeFactors(state, event, (factors) => ({
      otpEmail: false,
      ...removeFactor(factors, event),
    })),
  "user.human.mfa.otp.sms.added": (state, event) =>
    changeFactors(state, event, () => ({ otpSms: true })),
  "user.human.mfa.otp.sms.removed": (state, event) =>
    changeFactors(state, event, (factors) => ({ otpSms: false, ...removeFactor(factors, event) })),
  "user.human.mfa.recoverycode.added": (state, event) =>
    changeFactors(state, event, () => ({ recoveryCodes: event.private?.hashes ?? [] })),
  "user.human.mfa.recoverycode.used": (state, event) =>
    changeFactors(state, event, ({ recoveryCodes }) => ({
      recoveryCodes: recoveryCodes.map((hash, at) => (at === event.data.at ? "" : hash)),
    })),
  "user.human.mfa.recoverycode.removed": (state, event) =>
    changeFactors(state, event, (factors) => ({
      recoveryCodes: [],
      ...removeFactor(factors, event),
    })),
  "user.human.mfa.init.skipped": (state, event) =>
    changeFactors(state, event, () => ({ skipped: event.time })),
  "user.human.mfa.u2f.token.added": (state, event) => addKey(state, event, "u2f"),
  "user.human.mfa.u2f.token.verified": (state, event) => verifyKey(state, event),
  "user.human.mfa.u2f.token.removed": (state, event) => removeKey(state, event),
  "user.human.mfa.u2f.token.signcount.changed": (state, event) => updateKeyUse(state, event),
  "user.human.passwordless.token.added": (state, event) => addKey(state, event, "passkey"),
  "user.human.passwordless.token.verified": (state, event) => verifyKey(state, event),
  "user.human.passwordless.token.renamed": (state, event) =>
    changeFactors(state, event, ({ keys }) => {
      const { tokenId } = event.data
      const key = keys[tokenId]
      if (key?.state !== "ready") return { keys }
      return { keys: { ...keys, [tokenId]: { ...key, name: event.private?.name ?? "" } } }
    }),
  "user.human.passwordless.token.removed": (state, event) => removeKey(state, event),
  "user.human.passwordless.token.signcount.changed": (state, event) => updateKeyUse(state, event),
  "user.human.passwordless.initialization.code.added": (state, event) => {
    const next = changeFactors(state, event, () => {
      const { codeId, expires } = event.data
      return { link: event.private ? { codeId, expires, sealed: event.private.sealed } : undefined }
    })
    if (!isHuman(state)) return next
    const origin = codeOrigin(state, event, { kind: "passkey_code", to: "email" })
    return withOrigin(next, "passkey_code", { origin })
  },
  "user.human.passwordless.initialization.code.used": (state, event) =>
    withOrigin(
      changeFactors(state, event, () => ({ link: undefined })),
      "passkey_code",
      {},
    ),
}

/** Ends existing sessions, except the one in which the user removed the factor. */
function removeFactor(
  { removedIn, kept }: Factors,
  { version, data: { keeps } }: { readonly version: number; readonly data: RemovalData },
): Pick<Factors, "removedIn" | "kept"> {
  if (keeps === undefined) return { removedIn: version, kept: undefined }
  const before = kept?.sessionId === keeps ? kept.removedIn : removedIn
  return { removedIn: version, kept: { sessionId: keeps, removedIn: before } }
}

function changeFactors(
  state: User,
  { time }: { readonly time: number },
  change: (factors: Factors, person: Human) => Partial<Factors>,
): User {
  if (!isHuman(state)) return state
  const factors = factorsOf(state)
  return { ...state, changed: time, factors: { ...factors, ...change(factors, state) } }
}

const isHuman = (state: User): state is Human => "kind" in state && state.kind === "human"

/** The factors of a user. */
export const factorsOf = ({ factors }: Pick<Human, "factors">): Factors => factors ?? noFactors

type AddedEvent = EventInput<"user.human.passwordless.token.added">
type VerifiedEvent = EventInput<"user.human.passwordless.token.verified">
type RemovedEvent = EventInput<"user.human.passwordless.token.removed">
type UsedEvent = EventInput<"user.human.passwordless.token.signcount.changed">

type OriginParameters = Parameters<typeof withOriginOf>

const withOrigin = (state: User, kind: OriginParameters[1], of: OriginParameters[2]): User =>
  isHuman(state) ? { ...state, ...withOriginOf(state, kind, of) } : state

/** Only the latest registration of a kind can be completed. */
const addKey = (state: User, event: AddedEvent, kind: KeyKind): User =>
  changeFactors(state, event, ({ keys }, person) => {
    const others = Object.entries(keys).filter(
      ([, key]) => key.state === "ready" || key.kind !== kind,
    )
    const { tokenId, rpId, codeId } = event.data
    const challenge = event.private?.challenge ?? ""
    const origin = originOfKey(person, event, codeId)
    const key: WebAuthnKey = {
      kind,
      rpId,
      state: "pending",
      challenge,
      begun: event.time,
      codeId,
      ...(origin && { origin }),
    }
    return { keys: { ...Object.fromEntries(others), [tokenId]: key } }
  })

/** A registration that began with a code also originates from those who could read the code. */
function originOfKey(
  state: WithOrigins,
  event: EventInfo,
  codeId: string | undefined,
): Origin | undefined {
  if (codeId === undefined) return originWithInherited(state, event)
  return combineOrigin(recordedOrigin(state, "passkey_code"), event)
}

function verifyKey(state: User, event: VerifiedEvent): User {
  const { tokenId: id } = event.data
  const pending = isHuman(state) ? factorsOf(state).keys[id] : undefined
  const pendingOrigin = pending?.state === "pending" ? pending.origin : undefined
  const origin = combineOrigin(pendingOrigin, event)
  const next = completeKey(state, event)
  return pending ? withOrigin(next, credentialKindOf(pending.kind), { id, origin }) : next
}

const completeKey = (state: User, event: VerifiedEvent): User =>
  changeFactors(state, event, ({ keys }) => {
    const { tokenId, aaguid, signCount } = event.data
    const { [tokenId]: pending, ...others } = keys
    if (!pending || !event.private) return { keys: others }
    const { kind, rpId } = pending
    const created = event.time
    const key = {
      kind,
      rpId,
      state: "ready",
      aaguid,
      signCount,
      created,
      ...event.private,
    } as const
    return { keys: { ...others, [tokenId]: key } }
  })

function removeKey(state: User, event: RemovedEvent): User {
  const { tokenId: id } = event.data
  const key = isHuman(state) ? factorsOf(state).keys[id] : undefined
  const next = changeFactors(state, event, (factors) => {
    const { [id]: removedKey, ...others } = factors.keys
    return { keys: others, ...(removedKey?.state === "ready" && removeFactor(factors, event)) }
  })
  return key ? withOrigin(next, credentialKindOf(key.kind), { id }) : next
}

/** Using a key only changes the time of its last use. */
function updateKeyUse(state: User, event: UsedEvent): User {
  if (!isHuman(state)) return state
  const factors = factorsOf(state)
  const { tokenId, signCount } = event.data
  const key = factors.keys[tokenId]
  if (key?.state !== "ready") return state
  return {
    ...state,
    factors: {
      ...factors,
      keys: { ...factors.keys, [tokenId]: { ...key, signCount, used: event.time } },
    },
  }
}
