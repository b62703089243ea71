import type { Editor, Erasure, Event } from "../../store/index.ts"
import { originWithInherited, withOriginOf } from "./origins.ts"
import type { Code, Email, Human, PasswordCode, Phone, ReturnedCode, User } from "./state.ts"
import {
  byOrganization,
  byUser,
  initialVerifier,
  isAnonymous,
  unknownVerifier,
  type VerifiedBy,
  type Verifier,
  verifierOfEvent,
} from "./verifier.ts"

type CodeAdded<Type extends string> = Event<
  Type,
  {
    readonly expires: number
    readonly returned: boolean
    readonly urlTemplate: string
  } & VerifiedBy,
  { readonly sealed: string }
>

/** Events of the email address and phone number of a user, and of the codes that verify them. */
export type ContactEvent =
  | Event<
      "user.human.email.changed",
      /** `isSuperseded`: the address did not change, but another user has verified it. */
      { readonly isSuperseded?: boolean },
      {
        readonly email: string
        /** The previous address, if the user had verified it. */
        readonly before?: string
      }
    >
  | Event<"user.human.email.verified", VerifiedBy>
  | CodeAdded<"user.human.email.code.added">
  | Event<"user.human.phone.changed", Record<never, never>, { readonly phone: string }>
  | Event<"user.human.phone.verified", VerifiedBy>
  | CodeAdded<"user.human.phone.code.added">
  | Event<"user.human.phone.removed">

/** Contact data in the event of a new user. */
export type InitialContacts = {
  readonly emailVerified: boolean
  readonly phoneVerified: boolean
  readonly emailVerifier?: Verifier
  readonly phoneVerifier?: Verifier
}

type AddedEvent = {
  readonly data: InitialContacts
  readonly private: { readonly email: string; readonly phone: string } | null
  readonly time: number
  readonly editor: Editor
}

/** The initial contacts of a user. */
export function initialContacts({ data, private: secret, time, editor }: AddedEvent) {
  const { emailVerified, emailVerifier, phoneVerified, phoneVerifier } = data
  const phone: Phone = {
    number: secret?.phone ?? "",
    verified: phoneVerified,
    ...(phoneVerified && { verifier: phoneVerifier ?? unknownVerifier(editor) }),
  }
  const email: Email = {
    address: secret?.email ?? "",
    verified: emailVerified,
    ...(emailVerified && { verifier: initialVerifier(emailVerifier, editor) }),
    ...(emailVerified && emailVerifier?.by === "user" && { proven: time }),
  }
  return { email, phone: secret?.phone ? phone : null } as const
}

/**
 * The email address after an account at a provider was linked. In events of earlier versions, the
 * link created with the account is the only record of the provider that verified the address.
 */
export function emailWithLink(
  { email }: Pick<Human, "email">,
  {
    data,
    editor,
  }: { readonly data: { idpId: string; isFirst?: boolean }; readonly editor: Editor },
): Email {
  const isRegistered = email.verifier?.by === "user" && email.proven === undefined
  if (!isRegistered || !data.isFirst || !isAnonymous(editor)) return email
  return { ...email, verifier: { by: "provider", idpId: data.idpId } }
}

type EventInput<Type extends ContactEvent["type"]> = Extract<ContactEvent, { type: Type }> & {
  readonly id: string
  readonly time: number
  readonly editor: Editor
  readonly erase?: Erasure | null
}

type ContactReducers = {
  readonly [Type in ContactEvent["type"]]: (
    state: User,
    event: Omit<EventInput<Type>, "type">,
  ) => User
}

/** Reducers for these events; part of the user's `evolve`. */
export const contactReducers: ContactReducers = {
  "user.human.email.changed": (state, event) =>
    changeHuman(state, event, ({ passwordCode, returnedCodes, ...person }) => ({
      ...(!event.data.isSuperseded &&
        withOriginOf(person, "email", { origin: originWithInherited(person, event) })),
      email: {
        address: event.private?.email ?? "",
        verified: false,
        ...(event.data.isSuperseded && { isSuperseded: true }),
      },
      emailCode: null,
      // It would prove access to the previous address.
      invite: undefined,
      passwordCode: codeUnlessSentBy("email", passwordCode),
      ...(returnedCodes && { returnedCodes: returnedCodes.filter((of) => of === "phone") }),
    })),
  "user.human.email.verified": (state, event) =>
    changeHuman(state, event, ({ email: { address }, returnedCodes = [] }) => ({
      email: {
        address,
        verified: true,
        verifier: verifierOfEvent(
          event,
          returnedCodes.some((of) => of !== "phone"),
        ),
        ...(event.data.verifier?.by === "user" && { proven: event.time }),
      },
      emailCode: null,
    })),
  "user.human.email.code.added": (state, event) =>
    changeHuman(state, event, ({ changed, returnedCodes }) => ({
      emailCode: toCode(event),
      changed,
      ...withReturned(returnedCodes, "email", event.data),
    })),
  "user.human.phone.changed": (state, event) =>
    changeHuman(state, event, ({ passwordCode, ...person }) => ({
      ...withOriginOf(person, "phone", { origin: originWithInherited(person, event) }),
      phone: { number: event.private?.phone ?? "", verified: false },
      phoneCode: null,
      passwordCode: codeUnlessSentBy("sms", passwordCode),
    })),
  "user.human.phone.verified": (state, event) =>
    changeHuman(state, event, ({ phone, returnedCodes = [] }) => ({
      phone: phone && {
        number: phone.number,
        verified: true,
        verifier: verifierOfEvent(event, returnedCodes.includes("phone")),
      },
      phoneCode: null,
    })),
  "user.human.phone.code.added": (state, event) =>
    changeHuman(state, event, ({ changed, returnedCodes }) => ({
      phoneCode: toCode(event),
      changed,
      ...withReturned(returnedCodes, "phone", event.data),
    })),
  "user.human.phone.removed": (state, event) =>
    changeHuman(state, event, ({ passwordCode, ...person }) => ({
      ...withOriginOf(person, "phone"),
      phone: null,
      phoneCode: null,
      passwordCode: codeUnlessSentBy("sms", passwordCode),
    })),
}

function changeHuman(
  state: User,
  { time }: { readonly time: number },
  change: (state: Human) => Partial<Human>,
): User {
  if (!("kind" in state) || state.kind !== "human") return state
  return { ...state, changed: time, ...change(state) }
}

/** Drops a code sent to the changed address, which would prove access to the previous one. */
const codeUnlessSentBy = (channel: PasswordCode["channel"], code: Human["passwordCode"]) =>
  code?.channel === channel ? undefined : code

export type CodeData = { readonly expires: number } & VerifiedBy

/** Null if erased by a newer code or the removal of the user. */
const toCode = (event: {
  readonly data: CodeData
  readonly private: { readonly sealed: string } | null
}): Code | null => event.private && { sealed: event.private.sealed, ...codeData(event.data) }

/** The fields of a code event besides the code. */
export const codeData = ({ expires, verifier }: CodeData) => ({
  expires,
  ...(verifier && { verifier }),
})

/** Who verifies an address with the latest code of a kind. */
export function verifierByCode(
  person: Pick<Human, "returnedCodes" | "emailCode" | "phoneCode" | "invite">,
  of: ReturnedCode,
): Verifier {
  const { emailCode, phoneCode, invite, returnedCodes = [] } = person
  const codes = { email: emailCode, phone: phoneCode, invite }
  return codes[of]?.verifier ?? (returnedCodes.includes(of) ? byOrganization : byUser)
}

/**
 * Remembers which codes the caller could read, also after they are erased: returned ones, and those
 * of earlier versions with the caller's link.
 */
export function withReturned(
  before: readonly ReturnedCode[] = [],
  of: ReturnedCode,
  { returned, urlTemplate, verifier }: CodeDelivery,
) {
  const others = before.filter((each) => each !== of)
  const isReadable = returned || (verifier === undefined && urlTemplate !== "")
  const returnedCodes = isReadable ? [...others, of] : others
  return before.length + returnedCodes.length === 0 ? {} : { returnedCodes }
}

type CodeDelivery = { readonly returned: boolean; readonly urlTemplate: string } & VerifiedBy
