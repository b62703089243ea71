import { useState } from "react"
import {
  OIDCApplicationType,
  OIDCAuthMethodType,
  OIDCGrantType,
  OIDCResponseType,
} from "../../../src/gen/core/application/v2/application_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { Button } from "../../kit/button.tsx"
import { Check } from "../../kit/check.tsx"
import { Choice } from "../../kit/choice.tsx"
import { TextArea, TextField } from "../../kit/field.tsx"
import { type Credentials, CredentialsBox } from "../credentials-box.tsx"
import { useHouse } from "../house.ts"
import { linesOf } from "../lines.ts"
import { LinkButton } from "../link.tsx"
import { useAction, useLoad } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"

const kinds = ["web", "user_agent", "native", "api"] as const
type Kind = (typeof kinds)[number]

/** What kinds that people sign in to mean in the protocol: only the first can keep a secret. */
const protocol = {
  web: {
    applicationType: OIDCApplicationType.OIDC_APP_TYPE_WEB,
    authMethodType: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_BASIC,
  },
  user_agent: {
    applicationType: OIDCApplicationType.OIDC_APP_TYPE_USER_AGENT,
    authMethodType: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_NONE,
  },
  native: {
    applicationType: OIDCApplicationType.OIDC_APP_TYPE_NATIVE,
    authMethodType: OIDCAuthMethodType.OIDC_AUTH_METHOD_TYPE_NONE,
  },
} as const satisfies Record<Exclude<Kind, "api">, unknown>

type Draft = {
  kind: Kind
  name: string
  redirectUris: string
  postLogoutUris: string
  refresh: boolean
}

const blank: Draft = {
  kind: "web",
  name: "",
  redirectUris: "",
  postLogoutUris: "",
  refresh: false,
}

type Created = Credentials & { readonly applicationId: string }

/** Which kind, what it is called, where it returns to; then its credentials, this once. */
export function NewApplicationPage({ projectId }: { readonly projectId: string }) {
  const { t, core } = useHouse()
  const [created, setCreated] = useState<Created | undefined>(undefined)
  const project = useLoad(`project ${projectId}`, "", async (signal) => {
    const answer = await core.projects.getProject({ projectId }, { signal })
    return answer.project?.name ?? projectId
  })
  const projectName = project.status === "ready" ? project.value : "…"
  const crumbs = [
    { label: t("nav.projects"), to: { page: "projects" } as const },
    { label: projectName, to: { page: "project", projectId } as const },
  ]
  const title = created ? created.name : t("applications.create")
  return (
    <PageFrame title={title} crumbs={crumbs} narrow>
      {created ? (
        <Done created={created} />
      ) : (
        <NewApplicationForm projectId={projectId} onCreated={setCreated} />
      )}
    </PageFrame>
  )
}

function Done({ created }: { readonly created: Created }) {
  const { t } = useHouse()
  const { applicationId } = created
  return (
    <div className="stack stack-wide">
      <Alert tone="done">{t("applications.created")}</Alert>
      <CredentialsBox credentials={created} />
      <div className="row">
        <LinkButton kind="primary" to={{ page: "application", applicationId }}>
          {t("applications.open")}
        </LinkButton>
      </div>
    </div>
  )
}

type FormProps = {
  readonly projectId: string
  readonly onCreated: (created: Created) => void
}

function NewApplicationForm({ projectId, onCreated }: FormProps) {
  const { t, core } = useHouse()
  const [draft, setDraft] = useState<Draft>(blank)
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  const action = useAction(async () => {
    const name = draft.name.trim()
    const answer = await core.applications.createApplication(requestOf(projectId, draft))
    const made = answer.applicationType
    const { clientId, clientSecret } =
      made.case === "oidcConfiguration" || made.case === "apiConfiguration"
        ? made.value
        : { clientId: "", clientSecret: "" }
    onCreated({ applicationId: answer.applicationId, name, clientId, clientSecret })
  })
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        action.run()
      }}
    >
      <Choice
        legend={t("applications.kind")}
        name="kind"
        options={kinds.map((value) => ({
          value,
          label: t(`kind.${value}`),
          hint: t(`kind.${value}.hint`),
        }))}
        value={draft.kind}
        onChange={(kind) => change({ kind, refresh: kind === "native" })}
      />
      <TextField
        label={t("field.name")}
        hint={t("applications.name_hint")}
        value={draft.name}
        onChange={(event) => change({ name: event.target.value })}
        maxLength={200}
        autoComplete="off"
        required
      />
      {draft.kind !== "api" && <SignInFields draft={draft} change={change} />}
      {action.error && <Alert tone="danger">{action.error}</Alert>}
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={action.busy}>
          {t("applications.create")}
        </Button>
        <LinkButton to={{ page: "project", projectId }}>{t("form.cancel")}</LinkButton>
      </div>
    </form>
  )
}

type SignInFieldsProps = {
  readonly draft: Draft
  readonly change: (part: Partial<Draft>) => void
}

/** An API only checks tokens that others got: nobody is sent back to it. */
function SignInFields({ draft, change }: SignInFieldsProps) {
  const { t } = useHouse()
  const example =
    draft.kind === "native" ? "com.example.app:/callback" : "https://app.example.org/callback"
  return (
    <>
      <TextArea
        label={t("field.redirect_uris")}
        hint={t("applications.redirect_hint")}
        placeholder={example}
        rows={3}
        value={draft.redirectUris}
        onChange={(event) => change({ redirectUris: event.target.value })}
        autoComplete="off"
        spellCheck={false}
        required
      />
      <TextArea
        label={t("field.post_logout_uris")}
        optional={t("form.optional")}
        hint={t("applications.post_logout_hint")}
        rows={2}
        value={draft.postLogoutUris}
        onChange={(event) => change({ postLogoutUris: event.target.value })}
        autoComplete="off"
        spellCheck={false}
      />
      <Check
        label={t("grant.refresh_token")}
        hint={t("grant.refresh_token.hint")}
        checked={draft.refresh}
        onChange={(refresh) => change({ refresh })}
      />
    </>
  )
}

function requestOf(projectId: string, draft: Draft) {
  const name = draft.name.trim()
  if (draft.kind === "api") {
    const applicationType = { case: "apiConfiguration", value: {} } as const
    return { projectId, name, applicationType }
  }
  const value = {
    ...protocol[draft.kind],
    redirectUris: linesOf(draft.redirectUris),
    postLogoutRedirectUris: linesOf(draft.postLogoutUris),
    responseTypes: [OIDCResponseType.OIDC_RESPONSE_TYPE_CODE],
    grantTypes: [
      OIDCGrantType.OIDC_GRANT_TYPE_AUTHORIZATION_CODE,
      ...(draft.refresh ? [OIDCGrantType.OIDC_GRANT_TYPE_REFRESH_TOKEN] : []),
    ],
  }
  const applicationType = { case: "oidcConfiguration", value } as const
  return { projectId, name, applicationType }
}
