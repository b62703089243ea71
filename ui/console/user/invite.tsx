import { useState } from "react"
import { Button } from "../../kit/button.tsx"
import { CopyButton } from "../../kit/copy-button.tsx"
import { Dialog } from "../../kit/dialog.tsx"
import { ActionForm } from "../form.tsx"
import { useHouse } from "../house.ts"
import { useAction } from "../load.ts"
import { nameOf } from "../user.ts"
import type { UserPart } from "./part.ts"

/** The way in for a person who has no password yet: a link by which they choose it themself. */
export function Invite(part: UserPart) {
  const { t } = useHouse()
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t("invite.do")}</Button>
      {open && <InviteDialog {...part} close={() => setOpen(false)} />}
    </>
  )
}

function InviteDialog({ user, onChanged, close }: UserPart & { readonly close: () => void }) {
  const { t, core } = useHouse()
  const [link, setLink] = useState("")
  const { userId, details } = user
  const make = useAction(async () => {
    const verification = { case: "returnCode", value: {} } as const
    const { inviteCode = "" } = await core.users.createInviteCode({ userId, verification })
    setLink(linkOf(userId, details?.resourceOwner ?? "", inviteCode))
    await onChanged()
  })
  return (
    <Dialog title={t("invite.title", { name: nameOf(user) })} onClose={close}>
      {link ? (
        <div className="stack">
          <p>{t("invite.once")}</p>
          <pre className="snippet secret-text">
            <code>{link}</code>
          </pre>
          <div className="row">
            <CopyButton
              value={link}
              label={t("copy.do")}
              done={t("copy.done")}
              what={t("invite.link")}
            />
          </div>
          <div className="form-actions">
            <Button onClick={close}>{t("invite.done")}</Button>
          </div>
        </div>
      ) : (
        <ActionForm action={make} submit={t("invite.create")} onCancel={close}>
          <p>{t("invite.lead")}</p>
          <p className="quiet small">{t("invite.again")}</p>
        </ActionForm>
      )}
    </Dialog>
  )
}

/** The code stands behind the #, which no server is told and no log keeps. */
function linkOf(userId: string, organization: string, code: string): string {
  const parameters = new URLSearchParams({ userId, organization, invite: "true" })
  return `${location.origin}/ui/login/verify?${parameters}#${code}`
}
