import { useState } from "react"
import { AuthService } from "../../../src/gen/core/auth/v1/auth_service_pb.ts"
import { UserService } from "../../../src/gen/core/user/v2/user_service_pb.ts"
import { Button, Dialog } from "../../kit/index.ts"
import { defineForm, formId, useOpenForm } from "../form/index.ts"
import { LinkBox } from "../list/index.ts"
import { call, RefusalAlert, Section, t, useAction, useRead } from "../shell/index.ts"
import { AddKey } from "./add-key.tsx"
import { areKeysSupported } from "./create-key.ts"
import { KeyList } from "./key-list.tsx"

type PasskeysProps = { readonly userId: string; readonly isAllowed: boolean }

/** Passkeys of the user: register one on this device, or with a link on another. */
export function Passkeys({ userId, isAllowed }: PasskeysProps) {
  const { result } = useRead(AuthService.method.listMyPasswordless)
  const [renamed, setRenamed] = useOpenForm("passkey-name")
  const key = result.find(({ id }) => id === renamed)
  if (!isAllowed && result.length === 0) return null
  const actions = isAllowed && (
    <div className="row">
      {isSecureContext && <AddOnOtherDevice />}
      {areKeysSupported() && <AddKey kind="passkey" />}
    </div>
  )
  return (
    <Section title={t("account.passkey.title")} actions={actions}>
      <p className="quiet section-lead">{t("account.passkey.text")}</p>
      {!areKeysSupported() && <p className="quiet section-lead">{t("account.no_keys_here")}</p>}
      {result.length === 0 && <p className="quiet">{t("account.passkey.none")}</p>}
      <KeyList
        keys={result}
        unnamed={t("ways.passkey")}
        extraActions={({ id, name }) => (
          <Button
            small
            aria-label={`${t("action.rename")}: ${name || t("ways.passkey")}`}
            onClick={() => setRenamed(id)}
          >
            {t("action.rename")}
          </Button>
        )}
        consequence={t("account.passkey.remove_text")}
        remove={({ id: tokenId }) => call(AuthService.method.removeMyPasswordless, { tokenId })}
      />
      {key &&
        renameForm(
          userId,
          key,
        )({
          id: formId("passkey-name", key.id),
          title: t("account.passkey.rename"),
          close: () => setRenamed(undefined),
        })}
    </Section>
  )
}

const renameForm = (userId: string, { id: passkeyId, name }: NamedKey) =>
  defineForm({
    initial: { name },
    readBeforeSave: true,
    save: (values) =>
      call(UserService.method.renamePasskey, { userId, passkeyId, name: values.name.trim() }),
    submit: t("action.rename"),
    fields: ({ text }) => text("name", t("account.key_name"), { required: true }),
  })

type NamedKey = { readonly id: string; readonly name: string }

/** Shows the registration link as a QR code. */
function AddOnOtherDevice() {
  const [link, setLink] = useState("")
  const action = useAction(
    () => call(AuthService.method.addMyPasswordlessLink),
    (answer) => setLink(answer.link),
  )
  return (
    <>
      <Button small disabled={action.busy} onClick={() => action.run()}>
        {t("account.passkey.elsewhere")}
      </Button>
      <RefusalAlert refusal={action.refusal} />
      {link !== "" && (
        <Dialog title={t("account.passkey.elsewhere")} onClose={() => setLink("")}>
          <p>{t("account.passkey.elsewhere_text")}</p>
          <LinkBox
            link={link}
            description={t("account.passkey.link")}
            qr={t("account.passkey.link_picture")}
          />
        </Dialog>
      )}
    </>
  )
}
