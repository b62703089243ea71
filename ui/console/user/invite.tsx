import { useState } from "react"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Button, Dialog } from "../../kit/index.ts"
import { LinkBox } from "../list/index.ts"
import { call, May, notify, RefusalAlert, t, useAction } from "../shell/index.ts"
import { nameOf, type UserPart } from "./user.ts"

/** What makes or sends the link. */
const kinds = {
  invite: UserService.method.createInviteCode,
  password_link: UserService.method.passwordReset,
  passkey_link: UserService.method.createPasskeyRegistrationLink,
} as const

type Kind = keyof typeof kinds

type GivenLinkProps = UserPart & {
  readonly kind: Kind
  /** Answers a link that one hands on oneself. */
  readonly make: (userId: string, organization: string) => Promise<string>
  readonly send: (userId: string) => Promise<unknown>
}

const sendCode = { case: "sendCode", value: {} } as const
const sendLink = { case: "sendLink", value: {} } as const

/** The way in for a person who has no password yet: a link by which they choose it themself. */
export const Invite = ({ user }: UserPart) => (
  <GivenLink
    user={user}
    kind="invite"
    make={inviteTo}
    send={(userId) => call(kinds.invite, { userId, verification: sendCode })}
  />
)

/** The same for who has forgotten theirs. */
export const PasswordLink = ({ user }: UserPart) => (
  <GivenLink
    user={user}
    kind="password_link"
    make={resetOf}
    send={(userId) => call(kinds.password_link, { userId, medium: sendLink })}
  />
)

/** The same for a passkey, which one makes on a device of their own. */
export const PasskeyLink = ({ user }: UserPart) => (
  <GivenLink
    user={user}
    kind="passkey_link"
    make={passkeyLinkOf}
    send={(userId) => call(kinds.passkey_link, { userId, medium: sendLink })}
  />
)

function GivenLink(props: GivenLinkProps) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <May needs={kinds[props.kind]}>
        <Button onClick={() => setOpen(true)}>{t(`${props.kind}.do`)}</Button>
      </May>
      {open && <GivenLinkDialog {...props} close={() => setOpen(false)} />}
    </>
  )
}

function GivenLinkDialog(props: GivenLinkProps & { readonly close: () => void }) {
  const { user, kind, close } = props
  const [link, setLink] = useState("")
  const send = useAction(
    () => props.send(user.userId),
    () => {
      close()
      notify({ text: t(`${kind}.sent`, { name: nameOf(user) }) })
    },
  )
  const owner = user.details?.resourceOwner ?? ""
  const make = useAction(async () => setLink(await props.make(user.userId, owner)))
  return (
    <Dialog title={t(`${kind}.title`, { name: nameOf(user) })} onClose={close}>
      <div className="stack">
        {link ? (
          <HandedLink kind={kind} link={link} />
        ) : (
          <>
            <p>{t(`${kind}.lead`)}</p>
            <p className="quiet small">{t(`${kind}.again`)}</p>
            <RefusalAlert refusal={make.refusal ?? send.refusal} />
          </>
        )}
        <div className="form-actions">
          {!link && (
            <>
              <Button kind="primary" disabled={make.busy} onClick={() => make.run()}>
                {t("invite.create")}
              </Button>
              <Button disabled={send.busy} onClick={() => send.run()}>
                {t("invite.send")}
              </Button>
            </>
          )}
          <Button onClick={close}>{t(link ? "invite.done" : "form.cancel")}</Button>
        </div>
      </div>
    </Dialog>
  )
}

/** The link to hand on, shown this once. */
function HandedLink({ kind, link }: { readonly kind: Kind; readonly link: string }) {
  return (
    <>
      <p>{t(`${kind}.once`)}</p>
      <LinkBox link={link} what={t(`${kind}.link`)} qr={t(`${kind}.qr`)} />
    </>
  )
}

export const InviteLink = ({ link }: { readonly link: string }) => (
  <HandedLink kind="invite" link={link} />
)

/**
 * Makes an invitation that one hands on oneself. The code stands behind the #, which no server is
 * told and no log keeps.
 */
export async function inviteTo(userId: string, organization: string): Promise<string> {
  const verification = { case: "returnCode", value: {} } as const
  const made = await call(UserService.method.createInviteCode, { userId, verification })
  const parameters = new URLSearchParams({ userId, organization, invite: "true" })
  return `${location.origin}/ui/login/verify?${parameters}#${made.inviteCode ?? ""}`
}

/** The same for a new password. */
async function resetOf(userId: string, organization: string): Promise<string> {
  const medium = { case: "returnCode", value: {} } as const
  const made = await call(UserService.method.passwordReset, { userId, medium })
  const parameters = new URLSearchParams({ userId, organization })
  return `${location.origin}/ui/login/password/set?${parameters}#${made.verificationCode ?? ""}`
}

/** The same for a passkey. */
async function passkeyLinkOf(userId: string, organization: string): Promise<string> {
  const medium = { case: "returnCode", value: {} } as const
  const made = await call(UserService.method.createPasskeyRegistrationLink, { userId, medium })
  const { id: codeId = "", code = "" } = made.code ?? {}
  const parameters = new URLSearchParams({ userId, organization, codeId })
  return `${location.origin}/ui/login/passkey/set?${parameters}#${encodeURIComponent(code)}`
}
