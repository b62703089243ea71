import type { Editor, Event } from "../../store/index.ts"
import {
  kindOfKey,
  noted,
  notedOrigin,
  type Origin,
  originIn,
  originOfCode,
  originWith,
  type WithOrigins,
} from "./origins.ts"
import type { Factors, Human, KeyKind, KeySecret, User, WebAuthnKey } from "./state.ts"

/** What a person proves themself with beside a password, and how it came about. */
export type FactorEvent =
  | Event<"user.human.mfa.otp.added", Record<never, never>, { readonly sealed: string }>
  | Event<"user.human.mfa.otp.verified">
  | Event<"user.human.mfa.otp.removed", Removal>
  | Event<"user.human.mfa.otp.email.added">
  | Event<"user.human.mfa.otp.email.removed", Removal>
  | Event<"user.human.mfa.otp.sms.added">
  | Event<"user.human.mfa.otp.sms.removed", Removal>
  | Event<
      "user.human.mfa.recoverycode.added",
      { readonly count: number },
      { readonly hashes: readonly string[] }
    >
  | Event<"user.human.mfa.recoverycode.used", { readonly at: number }>
  | Event<"user.human.mfa.recoverycode.removed", Removal>
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

/** The session of the person who removed the factor, which goes on; absent where all end. */
type Removal = { readonly keeps?: string }

type KeyEvent<Stem extends string> =
  | Event<
      `${Stem}.added`,
      {
        readonly tokenId: string
        readonly rpId: string
        /** Of the link that let them begin; absent where they were signed in. */
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
        /** Made with the account, in place of a password. */
        readonly isFirst?: boolean
      },
      KeySecret
    >
  | Event<`${Stem}.removed`, Removal & { readonly tokenId: string }>
  | Event<`${Stem}.signcount.changed`, { readonly tokenId: string; readonly signCount: number }>

/** What somebody has who never set anything up. */
export const noFactors: Factors = {
  otpEmail: false,
  otpSms: false,
  keys: {},
  recoveryCodes: [],
  skipped: 0,
  removedIn: 0,
}

type At = {
  readonly id: string
  readonly editor: Editor
  readonly time: number
  readonly version: number
}

type Of<Type extends FactorEvent["type"]> = At &
  Pick<Extract<FactorEvent, { type: Type }>, "data" | "private">

type Folds = {
  readonly [Type in FactorEvent["type"]]: (state: User, event: Of<Type>) => User
}

/** What these events make of a person; a part of the user's `evolve`. */
export const factorFolds: Folds = {
  "user.human.mfa.otp.added": (state, event) =>
    changed(state, event, () => ({
      totp: event.private ? { sealed: event.private.sealed, verified: false } : undefined,
    })),
  "user.human.mfa.otp.verified": (state, event) =>
    changed(state, event, ({ totp }) => ({ totp: totp && { ...totp, verified: true } })),
  "user.human.mfa.otp.removed": (state, event) =>
    changed(state, event, (factors) => ({
      totp: undefined,
      ...(factors.totp?.verified && removal(factors, event)),
    })),
  "user.human.mfa.otp.email.added": (state, event) =>
    changed(state, event, () => ({ otpEmail: true })),
  "user.human.mfa.otp.email.removed": (state, event) =>
    changed(state, event, (factors) => ({ otpEmail: false, ...removal(factors, event) })),
  "user.human.mfa.otp.sms.added": (state, event) => changed(state, event, () => ({ otpSms: true })),
  "user.human.mfa.otp.sms.removed": (state, event) =>
    changed(state, event, (factors) => ({ otpSms: false, ...removal(factors, event) })),
  "user.human.mfa.recoverycode.added": (state, event) =>
    changed(state, event, () => ({ recoveryCodes: event.private?.hashes ?? [] })),
  "user.human.mfa.recoverycode.used": (state, event) =>
    changed(state, event, ({ recoveryCodes }) => ({
      recoveryCodes: recoveryCodes.map((hash, at) => (at === event.data.at ? "" : hash)),
    })),
  "user.human.mfa.recoverycode.removed": (state, event) =>
    changed(state, event, (factors) => ({ recoveryCodes: [], ...removal(factors, event) })),
  "user.human.mfa.init.skipped": (state, event) =>
    changed(state, event, () => ({ skipped: event.time })),
  "user.human.mfa.u2f.token.added": (state, event) => keyAdded(state, event, "u2f"),
  "user.human.mfa.u2f.token.verified": (state, event) => keyVerified(state, event),
  "user.human.mfa.u2f.token.removed": (state, event) => keyRemoved(state, event),
  "user.human.mfa.u2f.token.signcount.changed": (state, event) => keyUsed(state, event),
  "user.human.passwordless.token.added": (state, event) => keyAdded(state, event, "passkey"),
  "user.human.passwordless.token.verified": (state, event) => keyVerified(state, event),
  "user.human.passwordless.token.renamed": (state, event) =>
    changed(state, event, ({ keys }) => {
      const { tokenId } = event.data
      const key = keys[tokenId]
      if (key?.state !== "ready") return { keys }
      return { keys: { ...keys, [tokenId]: { ...key, name: event.private?.name ?? "" } } }
    }),
  "user.human.passwordless.token.removed": (state, event) => keyRemoved(state, event),
  "user.human.passwordless.token.signcount.changed": (state, event) => keyUsed(state, event),
  "user.human.passwordless.initialization.code.added": (state, event) => {
    const next = changed(state, event, () => {
      const { codeId, expires } = event.data
      return { link: event.private ? { codeId, expires, sealed: event.private.sealed } : undefined }
    })
    if (!isPerson(state)) return next
    const origin = originOfCode(state, event, { kind: "passkey_code", to: "email" })
    return withOrigin(next, "passkey_code", { origin })
  },
  "user.human.passwordless.initialization.code.used": (state, event) =>
    withOrigin(
      changed(state, event, () => ({ link: undefined })),
      "passkey_code",
      {},
    ),
}

/** Ends what signed in before, except the session that the user removed the factor with. */
function removal(
  { removedIn, kept }: Factors,
  { version, data: { keeps } }: { readonly version: number; readonly data: Removal },
): Pick<Factors, "removedIn" | "kept"> {
  if (keeps === undefined) return { removedIn: version, kept: undefined }
  const before = kept?.sessionId === keeps ? kept.removedIn : removedIn
  return { removedIn: version, kept: { sessionId: keeps, removedIn: before } }
}

function changed(
  state: User,
  { time }: { readonly time: number },
  change: (factors: Factors, person: Human) => Partial<Factors>,
): User {
  if (!isPerson(state)) return state
  const factors = factorsOf(state)
  return { ...state, changed: time, factors: { ...factors, ...change(factors, state) } }
}

const isPerson = (state: User): state is Human => "kind" in state && state.kind === "human"

/** What a person has set up. */
export const factorsOf = ({ factors }: Pick<Human, "factors">): Factors => factors ?? noFactors

type Added = Of<"user.human.passwordless.token.added">
type Verified = Of<"user.human.passwordless.token.verified">
type Removed = Of<"user.human.passwordless.token.removed">
type Used = Of<"user.human.passwordless.token.signcount.changed">

type Noting = Parameters<typeof noted>

const withOrigin = (state: User, kind: Noting[1], of: Noting[2]): User =>
  isPerson(state) ? { ...state, ...noted(state, kind, of) } : state

/** Only the newest registration of a kind goes on. */
const keyAdded = (state: User, event: Added, kind: KeyKind): User =>
  changed(state, event, ({ keys }, person) => {
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

/** What was begun with a code is also of whoever could read that. */
function originOfKey(
  state: WithOrigins,
  event: At,
  codeId: string | undefined,
): Origin | undefined {
  if (codeId === undefined) return originIn(state, event)
  return originWith(notedOrigin(state, "passkey_code"), event)
}

function keyVerified(state: User, event: Verified): User {
  const { tokenId: id } = event.data
  const pending = isPerson(state) ? factorsOf(state).keys[id] : undefined
  const begun = pending?.state === "pending" ? pending.origin : undefined
  const origin = originWith(begun, event)
  const next = keyReady(state, event)
  return pending ? withOrigin(next, kindOfKey(pending.kind), { id, origin }) : next
}

const keyReady = (state: User, event: Verified): User =>
  changed(state, event, ({ keys }) => {
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

function keyRemoved(state: User, event: Removed): User {
  const { tokenId: id } = event.data
  const key = isPerson(state) ? factorsOf(state).keys[id] : undefined
  const next = changed(state, event, (factors) => {
    const { [id]: gone, ...others } = factors.keys
    return { keys: others, ...(gone?.state === "ready" && removal(factors, event)) }
  })
  return key ? withOrigin(next, kindOfKey(key.kind), { id }) : next
}

/** Being used changes nothing about a person but when the key was used last. */
function keyUsed(state: User, event: Used): User {
  if (!isPerson(state)) return state
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
