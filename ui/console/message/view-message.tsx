import { useState } from "react"
import {
  type Message,
  MessageService,
  type ViewMessageResponse,
} from "../../../src/gen/core/message/v2/message_service_pb.ts"
import { Button, Dialog } from "../../kit/index.ts"
import { LinkBox } from "../list/index.ts"
import { call, May, Refused, t, useAction } from "../shell/index.ts"

type ViewProps = { readonly message: Message; readonly title: string }

/** What a message says, with its code and link: it is shown to who asks, and that is kept. */
export function View({ message, title }: ViewProps) {
  const [open, setOpen] = useState(false)
  if (signInKinds.has(message.kind)) return null
  return (
    <>
      <May needs={MessageService.method.viewMessage}>
        <Button
          small
          kind="plain"
          aria-label={`${t("messages.view")}: ${title}`}
          onClick={() => setOpen(true)}
        >
          {t("messages.view")}
        </Button>
      </May>
      {open && <ViewDialog {...{ message, title }} close={() => setOpen(false)} />}
    </>
  )
}

/** Messages that only the user can read: their code or link signs in. */
const signInKinds = new Set(["magic_link", "verify_email_otp", "verify_sms_otp"])

type DialogProps = ViewProps & { readonly close: () => void }

function ViewDialog({ message, title, close }: DialogProps) {
  const { userId, id: messageId, recipient } = message
  const [shown, setShown] = useState<ViewMessageResponse | undefined>(undefined)
  const view = useAction(async () =>
    setShown(await call(MessageService.method.viewMessage, { userId, messageId })),
  )
  return (
    <Dialog title={title} onClose={close}>
      <div className="stack">
        {shown ? (
          <Said {...shown} />
        ) : (
          <>
            <p>{t("messages.view_text", { address: recipient })}</p>
            <Refused refusal={view.refusal} />
          </>
        )}
        <div className="form-actions">
          {!shown && (
            <Button kind="primary" disabled={view.busy} onClick={() => view.run()}>
              {t("messages.show")}
            </Button>
          )}
          <Button onClick={close}>{t(shown ? "messages.close" : "form.cancel")}</Button>
        </div>
      </div>
    </Dialog>
  )
}

function Said({ subject, text, link }: ViewMessageResponse) {
  return (
    <>
      {subject && <p className="message-subject">{subject}</p>}
      <p className="message-text">{text}</p>
      {link && <LinkBox link={link} what={t("messages.link")} qr={t("messages.qr")} />}
    </>
  )
}
