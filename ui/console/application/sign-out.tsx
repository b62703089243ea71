import { useState } from "react"
import { Check } from "../../kit/check.tsx"
import { TextField } from "../../kit/field.tsx"
import { ActionForm, EditSection, useSaving } from "../form.tsx"
import { useHouse } from "../house.ts"
import { changeOidc, type OidcPart } from "./change.ts"

/** How an application learns that somebody's session has ended elsewhere. */
export function SignOut(part: OidcPart) {
  const { t } = useHouse()
  return (
    <EditSection
      title={t("sign_out.title")}
      facts={<Facts {...part} />}
      form={(close) => <SignOutForm {...part} close={close} />}
    />
  )
}

function Facts({ oidc }: OidcPart) {
  const { t } = useHouse()
  const front = oidc.frontChannelLogout?.uri ?? ""
  if (oidc.backChannelLogoutUri === "" && front === "") {
    return <p className="quiet section-lead">{t("sign_out.none")}</p>
  }
  return (
    <dl className="facts">
      <dt>{t("sign_out.back")}</dt>
      <dd>{oidc.backChannelLogoutUri ? <code>{oidc.backChannelLogoutUri}</code> : <None />}</dd>
      <dt>{t("sign_out.front")}</dt>
      <dd>{front ? <code>{front}</code> : <None />}</dd>
    </dl>
  )
}

function None() {
  const { t } = useHouse()
  return <span className="quiet">{t("detail.none")}</span>
}

function SignOutForm({ close, ...part }: OidcPart & { readonly close: () => void }) {
  const { t, core } = useHouse()
  const { oidc, onChanged } = part
  const [back, setBack] = useState(oidc.backChannelLogoutUri)
  const [front, setFront] = useState(oidc.frontChannelLogout?.uri ?? "")
  const [session, setSession] = useState(oidc.frontChannelLogout?.sessionRequired ?? true)
  const save = () =>
    changeOidc(core, part, {
      backChannelLogoutUri: back.trim(),
      frontChannelLogout: { uri: front.trim(), sessionRequired: front.trim() !== "" && session },
    })
  const action = useSaving(save, onChanged, close)
  return (
    <ActionForm action={action} onCancel={close}>
      <TextField
        label={t("sign_out.back")}
        optional={t("form.optional")}
        hint={t("sign_out.back_hint")}
        type="url"
        value={back}
        onChange={(event) => setBack(event.target.value)}
        autoComplete="off"
      />
      <TextField
        label={t("sign_out.front")}
        optional={t("form.optional")}
        hint={t("sign_out.front_hint")}
        type="url"
        value={front}
        onChange={(event) => setFront(event.target.value)}
        autoComplete="off"
      />
      {front && (
        <Check
          label={t("sign_out.session")}
          hint={t("sign_out.session_hint")}
          checked={session}
          onChange={setSession}
        />
      )}
    </ActionForm>
  )
}
