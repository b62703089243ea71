import type { DescMessage, DescMethod, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf"
import {
  type AuthFactor,
  type Passkey,
  type User,
  UserState,
} from "../../../src/gen/core/user/v2/user_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { type Column, Table } from "../../kit/index.ts"
import { ConfirmButton } from "../form/index.ts"
import { actionColumn, type KeyDatesProps, Time } from "../list/index.ts"
import { call, Section, t, useRead } from "../shell/index.ts"
import { PasskeyLink } from "./invite.tsx"
import type { UserPart } from "./user.ts"

/** One way by which somebody proves who they are beside their password. */
type SignInMethod = {
  readonly id: string
  readonly kind: "passkey" | "u2f" | "otp" | "otp_sms" | "otp_email" | "recovery"
  /** What its person calls it; empty where there is one of the kind at most. */
  readonly name: string
  /** How many recovery codes can still be used. */
  readonly left?: number
  /** Of a key. */
  readonly dates?: KeyDatesProps
  /** The operation that removes it. */
  readonly needs: DescMethod
  readonly remove: () => Promise<unknown>
}

/** By what a person signs in beside the password; each can be taken from who has lost it. */
export function SignInMethods({ user }: UserPart) {
  const ways = useSignInMethods(user)
  const columns: readonly Column<SignInMethod>[] = [
    { label: t("field.kind"), cell: ({ kind }) => t(`ways.${kind}`) },
    { label: t("field.name"), cell: (way) => nameOf(way) },
    { label: t("key.added"), cell: ({ dates }) => <Time at={dates?.added} /> },
    { label: t("key.used"), cell: ({ dates }) => dates && <LastUsed {...dates} /> },
    actionColumn(({ kind, name, needs, remove }) => (
      <ConfirmButton
        small
        needs={needs}
        what={name || t(`ways.${kind}`)}
        consequence={t("ways.remove_text")}
        act={remove}
      />
    )),
  ]
  const title = t("ways.title")
  return (
    <Section title={title} actions={user.state === UserState.ACTIVE && <PasskeyLink user={user} />}>
      {ways.length === 0 ? (
        <p className="quiet section-lead">{t("ways.none")}</p>
      ) : (
        <Table caption={title} columns={columns} rows={ways} keyOf={({ id }) => id} />
      )}
    </Section>
  )
}

const nameOf = ({ name, left }: SignInMethod) =>
  left === undefined ? name && <bdi>{name}</bdi> : t("account.recovery.left", { count: left })

function LastUsed({ used }: KeyDatesProps) {
  return used ? <Time at={used} /> : t("key.unused")
}

function useSignInMethods({ userId }: User): readonly SignInMethod[] {
  const { method } = UserService
  const passkeys = useRead(method.listPasskeys, { userId }).result
  const factors = useRead(method.listAuthenticationFactors, { userId }).result
  const { recoveryCodesLeft: left } = useRead(method.listAuthenticationMethodTypes, { userId })
  const codes = single("recovery", method.removeRecoveryCodes, { userId })
  return [
    ...passkeys.map(({ id, name, ...key }) => ({
      ...({ id, kind: "passkey", name, needs: method.removePasskey } as const),
      dates: datesOf(key),
      remove: () => call(method.removePasskey, { userId, passkeyId: id }),
    })),
    ...factors.flatMap(({ type }) => factorOf(userId, type) ?? []),
    ...(left === undefined ? [] : [{ ...codes, left }]),
  ]
}

type KeyWithDates = Pick<Passkey, "creationDate" | "lastUsedDate">

const datesOf = ({
  creationDate: added,
  lastUsedDate: used,
}: Partial<KeyWithDates>): KeyDatesProps => ({
  added,
  used,
})

function factorOf(
  userId: string,
  { case: kind, value }: AuthFactor["type"],
): SignInMethod | undefined {
  const { method } = UserService
  switch (kind) {
    case "u2f": {
      const remove = () => call(method.removeU2F, { userId, u2fId: value.id })
      const { id, name } = value
      return { id, kind, name, dates: datesOf(value), needs: method.removeU2F, remove }
    }
    case "otp":
      return single("otp", method.removeTOTP, { userId })
    case "otpSms":
      return single("otp_sms", method.removeOTPSMS, { userId })
    case "otpEmail":
      return single("otp_email", method.removeOTPEmail, { userId })
    default:
      return undefined
  }
}

/** One of which there is one or none. */
const single = <I extends DescMessage>(
  kind: SignInMethod["kind"],
  needs: DescMethodUnary<I>,
  of: MessageInitShape<I>,
): SignInMethod => ({ id: kind, kind, name: "", needs, remove: () => call(needs, of) })
