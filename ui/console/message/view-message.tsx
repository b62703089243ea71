import { useState } from "react"
import {
  type Message,
  MessageService,
  type ViewMessageResponse,
} from "../../../src/gen/core/message/v2/message_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { DialogOpener } from "../form/index.ts"
import { LinkBox } from "../list/index.ts"
import { call, RefusalAlert, t, useAction } from "../shell/index.ts"

type ViewMessageProps = { readonly message: Message; readonly title: string }

/** Shows a message with its code and link; viewing is recorded. */
export function ViewMessage({ message, title }: ViewMessageProps) {
  if (signInKinds.has(message.kind)) return null
  return (
    <DialogOpener
      needs={MessageService.method.viewMessage}
      label={t("messages.view")}
      name={title}
      title={title}
    >
      {(close) => <MessageContent message={message} close={close} />}
    </DialogOpener>
  )
}

/** Messages that only the user can read, because their code or link signs in. */
const signInKinds = new Set(["magic_link", "verify_email_otp", "verify_sms_otp"])

type ContentProps = { readonly message: Message; readonly close: () => void }

function MessageContent({ message, close }: ContentProps) {
  const { userId, id: messageId, recipient } = message
  const [shown, setShown] = useState<ViewMessageResponse | undefined>(undefined)
  const view = useAction(async () =>
    setShown(await call(MessageService.method.viewMessage, { userId, messageId })),
  )
  return (
    <div className="stack">
      {shown ? (
        <MessageText {...shown} />
      ) : (
        <>
          <p>{t("messages.view_text", { address: recipient })}</p>
          <RefusalAlert refusal={view.refusal} />
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
  )
}

function MessageText({ subject, text, link }: ViewMessageResponse) {
  return (
    <>
      {subject && <p className="message-subject">{subject}</p>}
      <p className="message-text">{text}</p>
      {link && <LinkBox link={link} description={t("messages.link")} qr={t("messages.qr")} />}
    </>
  )
}
