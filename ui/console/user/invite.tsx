import { useState } from "react"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Button, Dialog } from "../../kit/index.ts"
import { LinkBox } from "../list/index.ts"
import { call, IfPermitted, notify, RefusalAlert, t, useAction } from "../shell/index.ts"
import { displayNameOf, type UserPart } from "./user.ts"

/** The operation that creates or sends each kind of link. */
const linkOperations = {
  invite: UserService.method.createInviteCode,
  password_link: UserService.method.passwordReset,
  passkey_link: UserService.method.createPasskeyRegistrationLink,
} as const

type LinkKind = keyof typeof linkOperations

type ShareLinkProps = UserPart & {
  readonly kind: LinkKind
  /** Creates a link to pass on manually. */
  readonly createLink: (userId: string, organization: string) => Promise<string>
  readonly sendLink: (userId: string) => Promise<unknown>
}

const sendCode = { case: "sendCode", value: {} } as const
const sendLink = { case: "sendLink", value: {} } as const

/** An invitation for a user without a password: a link to set it. */
export const Invite = ({ user }: UserPart) => (
  <ShareLink
    user={user}
    kind="invite"
    createLink={createInviteLink}
    sendLink={(userId) => call(linkOperations.invite, { userId, verification: sendCode })}
  />
)

/** A password reset link. */
export const PasswordLink = ({ user }: UserPart) => (
  <ShareLink
    user={user}
    kind="password_link"
    createLink={createResetLink}
    sendLink={(userId) => call(linkOperations.password_link, { userId, medium: sendLink })}
  />
)

/** A passkey registration link, to be opened on the user's device. */
export const PasskeyLink = ({ user }: UserPart) => (
  <ShareLink
    user={user}
    kind="passkey_link"
    createLink={createPasskeyLink}
    sendLink={(userId) => call(linkOperations.passkey_link, { userId, medium: sendLink })}
  />
)

function ShareLink(props: ShareLinkProps) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <IfPermitted needs={linkOperations[props.kind]}>
        <Button onClick={() => setOpen(true)}>{t(`${props.kind}.do`)}</Button>
      </IfPermitted>
      {open && <ShareLinkDialog {...props} close={() => setOpen(false)} />}
    </>
  )
}

function ShareLinkDialog(props: ShareLinkProps & { readonly close: () => void }) {
  const { user, kind, close } = props
  const [link, setLink] = useState("")
  const send = useAction(
    () => props.sendLink(user.userId),
    () => {
      close()
      notify({ text: t(`${kind}.sent`, { name: displayNameOf(user) }) })
    },
  )
  const owner = user.details?.resourceOwner ?? ""
  const make = useAction(async () => setLink(await props.createLink(user.userId, owner)))
  return (
    <Dialog title={t(`${kind}.title`, { name: displayNameOf(user) })} onClose={close}>
      <div className="stack">
        {link ? (
          <LinkToShare kind={kind} link={link} />
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

/** The link to pass on, shown only once. */
function LinkToShare({ kind, link }: { readonly kind: LinkKind; readonly link: string }) {
  return (
    <>
      <p>{t(`${kind}.once`)}</p>
      <LinkBox link={link} description={t(`${kind}.link`)} qr={t(`${kind}.qr`)} />
    </>
  )
}

export const InviteLink = ({ link }: { readonly link: string }) => (
  <LinkToShare kind="invite" link={link} />
)

/**
 * Creates an invitation link to pass on manually. The code is in the URL fragment, which servers
 * neither receive nor log.
 */
export async function createInviteLink(userId: string, organization: string): Promise<string> {
  const verification = { case: "returnCode", value: {} } as const
  const created = await call(UserService.method.createInviteCode, { userId, verification })
  const parameters = new URLSearchParams({ userId, organization, invite: "true" })
  return `${location.origin}/ui/login/verify?${parameters}#${created.inviteCode ?? ""}`
}

/** Creates a password reset link to pass on manually. */
async function createResetLink(userId: string, organization: string): Promise<string> {
  const medium = { case: "returnCode", value: {} } as const
  const created = await call(UserService.method.passwordReset, { userId, medium })
  const parameters = new URLSearchParams({ userId, organization })
  return `${location.origin}/ui/login/password/set?${parameters}#${created.verificationCode ?? ""}`
}

/** Creates a passkey registration link to pass on manually. */
async function createPasskeyLink(userId: string, organization: string): Promise<string> {
  const medium = { case: "returnCode", value: {} } as const
  const created = await call(UserService.method.createPasskeyRegistrationLink, { userId, medium })
  const { id: codeId = "", code = "" } = created.code ?? {}
  const parameters = new URLSearchParams({ userId, organization, codeId })
  return `${location.origin}/ui/login/passkey/set?${parameters}#${encodeURIComponent(code)}`
}
