import { useState } from "react"
import type {
  Application,
  OIDCConfiguration,
} from "../../src/gen/core/application/v2/application_pb.ts"
import { Button } from "../kit/button.tsx"
import { TextArea } from "../kit/field.tsx"
import { Section } from "./detail.tsx"
import { useHouse } from "./house.ts"
import { linesOf } from "./lines.ts"
import { useAction } from "./load.ts"

type RedirectUrisProps = { readonly application: Application; readonly onChanged: () => void }

/** The ways back to an application, shown and changed where they stand. */
export function RedirectUris({ application, onChanged }: RedirectUrisProps) {
  const { t } = useHouse()
  const [editing, setEditing] = useState(false)
  const { configuration } = application
  if (configuration.case !== "oidcConfiguration") return null
  const done = () => {
    setEditing(false)
    onChanged()
  }
  const edit = !editing && (
    <Button small onClick={() => setEditing(true)}>
      {t("action.edit")}
    </Button>
  )
  return (
    <Section title={t("applications.ways_back")} actions={edit}>
      {editing ? (
        <UriForm
          application={application}
          oidc={configuration.value}
          onSaved={done}
          onCancel={() => setEditing(false)}
        />
      ) : (
        <UriFacts oidc={configuration.value} />
      )}
    </Section>
  )
}

function UriFacts({ oidc }: { readonly oidc: OIDCConfiguration }) {
  const { t } = useHouse()
  return (
    <dl className="facts">
      <dt>{t("field.redirect_uris")}</dt>
      <dd>
        <Uris uris={oidc.redirectUris} />
      </dd>
      <dt>{t("field.post_logout_uris")}</dt>
      <dd>
        <Uris uris={oidc.postLogoutRedirectUris} />
      </dd>
    </dl>
  )
}

function Uris({ uris }: { readonly uris: readonly string[] }) {
  const { t } = useHouse()
  if (uris.length === 0) return <span className="quiet">{t("detail.none")}</span>
  return (
    <ul className="value-list">
      {uris.map((uri) => (
        <li key={uri}>
          <code>{uri}</code>
        </li>
      ))}
    </ul>
  )
}

type UriFormProps = {
  readonly application: Application
  readonly oidc: OIDCConfiguration
  readonly onSaved: () => void
  readonly onCancel: () => void
}

function UriForm({ application, oidc, onSaved, onCancel }: UriFormProps) {
  const { t, core } = useHouse()
  const [back, setBack] = useState(oidc.redirectUris.join("\n"))
  const [out, setOut] = useState(oidc.postLogoutRedirectUris.join("\n"))
  const action = useAction(async () => {
    const { applicationId, projectId, name } = application
    const value = {
      redirectUris: linesOf(back),
      postLogoutRedirectUris: linesOf(out),
      // Lists carry no "unchanged" on the wire: those that stay are sent as they are.
      responseTypes: oidc.responseTypes,
      grantTypes: oidc.grantTypes,
      additionalOrigins: oidc.additionalOrigins,
    }
    const applicationType = { case: "oidcConfiguration", value } as const
    await core.applications.updateApplication({ applicationId, projectId, name, applicationType })
    onSaved()
  })
  const area = { rows: 3, autoComplete: "off", spellCheck: false }
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        action.run()
      }}
    >
      <TextArea
        {...area}
        label={t("field.redirect_uris")}
        hint={t("applications.redirect_hint")}
        error={action.error}
        value={back}
        onChange={(event) => setBack(event.target.value)}
        required
      />
      <TextArea
        {...area}
        label={t("field.post_logout_uris")}
        optional={t("form.optional")}
        value={out}
        onChange={(event) => setOut(event.target.value)}
      />
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={action.busy}>
          {t("form.save")}
        </Button>
        <Button onClick={onCancel}>{t("form.cancel")}</Button>
      </div>
    </form>
  )
}
