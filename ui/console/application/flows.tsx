import { Alert } from "../../kit/alert.tsx"
import { Checks } from "../../kit/check.tsx"
import { Choice } from "../../kit/choice.tsx"
import { EditSection, Fields } from "../form/form.tsx"
import { useForm } from "../form/use-form.ts"
import { useText } from "../shell/text.ts"
import { changeOidc, type OidcForm, type OidcPart } from "./change.ts"
import {
  type AuthName,
  authMethods,
  authNames,
  authOf,
  type GrantName,
  grantNames,
  grantsOf,
  grantTypes,
  type ResponseName,
  responseNames,
  responsesFor,
  responsesOf,
  responseTypes,
} from "./protocol.ts"

/** How people get in, and how the application proves who it is. */
export function Flows(part: OidcPart) {
  const { t } = useText()
  return (
    <EditSection
      title={t("flows.title")}
      facts={<Facts {...part} />}
      form={(id, close) => <FlowForm {...part} {...{ id, close }} />}
    />
  )
}

function Facts({ oidc }: OidcPart) {
  const { t } = useText()
  return (
    <dl className="facts">
      <dt>{t("flows.grants")}</dt>
      <dd>
        <ul className="value-list">
          {grantsOf(oidc).map((name) => (
            <li key={name}>{t(`grant.${name}`)}</li>
          ))}
        </ul>
      </dd>
      {oidc.grantTypes.includes(grantTypes.implicit) && (
        <>
          <dt>{t("flows.responses")}</dt>
          <dd>
            <ul className="value-list">
              {responsesOf(oidc).map((name) => (
                <li key={name}>
                  <code>{wireOf(name)}</code>
                </li>
              ))}
            </ul>
          </dd>
        </>
      )}
      <dt>{t("flows.auth")}</dt>
      <dd>{t(`auth.${authOf(oidc)}`)}</dd>
    </dl>
  )
}

const wireOf = (name: ResponseName) => name.replace("id_token_token", "id_token token")

type Draft = {
  readonly grants: readonly GrantName[]
  readonly responses: readonly ResponseName[]
  readonly auth: AuthName
}

function FlowForm({ id, close, ...part }: OidcForm) {
  const { t } = useText()
  const { oidc } = part
  const form = useForm<Draft>({
    id,
    initial: { grants: grantsOf(oidc), responses: responsesOf(oidc), auth: authOf(oidc) },
    save: ({ grants, responses, auth }) =>
      changeOidc(part, {
        grantTypes: grants.map((name) => grantTypes[name]),
        responseTypes: responses.map((name) => responseTypes[name]),
        authMethodType: authMethods[auth],
      }),
    done: close,
  })
  const { values: draft, change } = form
  const chooseGrants = (grants: readonly GrantName[]) => {
    const fresh = grants.includes("implicit") && !draft.grants.includes("implicit")
    const wanted = fresh ? ([...draft.responses, "id_token_token"] as const) : draft.responses
    change({ grants, responses: responsesFor(grants, wanted) })
  }
  return (
    <Fields form={form} onCancel={close} disabled={draft.grants.length === 0}>
      <Checks
        legend={t("flows.grants")}
        options={grantNames.map((value) => ({
          value,
          label: t(`grant.${value}`),
          hint: t(`grant.${value}.hint`),
        }))}
        values={draft.grants}
        onChange={chooseGrants}
      />
      {draft.grants.length === 0 && <Alert tone="warning">{t("flows.no_grant")}</Alert>}
      {draft.grants.includes("implicit") && (
        <Implicit
          values={draft.responses}
          onChange={(responses) => change({ responses: responsesFor(draft.grants, responses) })}
        />
      )}
      <Choice
        legend={t("flows.auth")}
        name="auth"
        options={authNames.map((value) => ({
          value,
          label: t(`auth.${value}`),
          hint: t(`auth.${value}.hint`),
        }))}
        value={draft.auth}
        onChange={(auth) => change({ auth })}
      />
    </Fields>
  )
}

type ImplicitProps = {
  readonly values: readonly ResponseName[]
  readonly onChange: (values: readonly ResponseName[]) => void
}

/** RFC 9700 §2.1.2 advises against it: said before it is saved, with the way out. */
function Implicit({ values, onChange }: ImplicitProps) {
  const { t } = useText()
  return (
    <>
      <Alert tone="warning">{t("problem.grant_types.implicit")}</Alert>
      <Checks
        legend={t("flows.responses")}
        options={responseNames.map((value) => ({ value, label: wireOf(value) }))}
        values={values}
        onChange={onChange}
      />
    </>
  )
}
