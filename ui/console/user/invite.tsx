import { useState } from "react"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Button } from "../../kit/button.tsx"
import { Dialog } from "../../kit/dialog.tsx"
import { LinkBox } from "../list/link-box.tsx"
import { call, useAction } from "../shell/call.ts"
import { tell } from "../shell/notice.tsx"
import { Refused } from "../shell/refused.tsx"
import { useText } from "../shell/text.ts"
import type { UserPart } from "./part.ts"
import { nameOf } from "./user.ts"

/** The way in for a person who has no password yet: a link by which they choose it themself. */
export function Invite({ user }: UserPart) {
  const { t } = useText()
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t("invite.do")}</Button>
      {open && <InviteDialog user={user} close={() => setOpen(false)} />}
    </>
  )
}

function InviteDialog({ user, close }: UserPart & { readonly close: () => void }) {
  const { t } = useText()
  const [link, setLink] = useState("")
  const { userId, details } = user
  const send = useAction(
    () => {
      const verification = { case: "sendCode", value: {} } as const
      return call(UserService.method.createInviteCode, { userId, verification })
    },
    () => {
      close()
      tell({ text: t("invite.sent", { name: nameOf(user) }) })
    },
  )
  const make = useAction(async () => setLink(await inviteTo(userId, details?.resourceOwner ?? "")))
  return (
    <Dialog title={t("invite.title", { name: nameOf(user) })} onClose={close}>
      <div className="stack">
        {link ? (
          <InviteLink link={link} />
        ) : (
          <>
            <p>{t("invite.lead")}</p>
            <p className="quiet small">{t("invite.again")}</p>
            <Refused refusal={make.refusal ?? send.refusal} />
          </>
        )}
        <div className="form-actions">
          {!link && (
            <Button kind="primary" disabled={make.busy} onClick={() => make.run()}>
              {t("invite.create")}
            </Button>
          )}
          {!link && (
            <Button disabled={send.busy} onClick={() => send.run()}>
              {t("invite.send")}
            </Button>
          )}
          <Button onClick={close}>{t(link ? "invite.done" : "form.cancel")}</Button>
        </div>
      </div>
    </Dialog>
  )
}

/** The link to hand on, shown this once. */
export function InviteLink({ link }: { readonly link: string }) {
  const { t } = useText()
  return (
    <>
      <p>{t("invite.once")}</p>
      <LinkBox link={link} what={t("invite.link")} qr={t("invite.qr")} />
    </>
  )
}

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
