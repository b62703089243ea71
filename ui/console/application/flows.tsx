import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { Checks } from "../../kit/check.tsx"
import { Choice } from "../../kit/choice.tsx"
import { Disclosure } from "../../kit/disclosure.tsx"
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
  type RuleName,
  responseNames,
  responsesFor,
  responsesOf,
  responseTypes,
  ruleNames,
  rulesOf,
} from "./protocol.ts"

/** How people get in, and how the application proves who it is. */
export function Flows(part: OidcPart) {
  const { t } = useText()
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
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
      {rulesOf(oidc).length > 0 && (
        <>
          <dt>{t("request_rules.title")}</dt>
          <dd>
            <ul className="value-list">
              {rulesOf(oidc).map((name) => (
                <li key={name}>{t(`request_rules.${name}`)}</li>
              ))}
            </ul>
          </dd>
        </>
      )}
    </dl>
  )
}

const wireOf = (name: ResponseName) => name.replace("id_token_token", "id_token token")

type Draft = {
  readonly grants: readonly GrantName[]
  readonly responses: readonly ResponseName[]
  readonly auth: AuthName
  readonly rules: readonly RuleName[]
}

function FlowForm({ id, close, ...part }: OidcForm) {
  const { t } = useText()
  const { oidc } = part
  const form = useForm<Draft>({
    id,
    initial: {
      grants: grantsOf(oidc),
      responses: responsesOf(oidc),
      auth: authOf(oidc),
      rules: rulesOf(oidc),
    },
    save: ({ grants, responses, auth, rules }) =>
      changeOidc(part, {
        grantTypes: grants.map((name) => grantTypes[name]),
        responseTypes: responses.map((name) => responseTypes[name]),
        authMethodType: authMethods[auth],
        requestRules: Object.fromEntries(ruleNames.map((name) => [name, rules.includes(name)])),
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
      <Rules
        open={rulesOf(oidc).length > 0}
        values={draft.rules}
        onChange={(rules) => change({ rules })}
      />
    </Fields>
  )
}

type RulesProps = {
  readonly open: boolean
  readonly values: readonly RuleName[]
  readonly onChange: (values: readonly RuleName[]) => void
}

/** What most applications do without; each refuses requests that come otherwise. */
function Rules({ open, ...checks }: RulesProps) {
  const { t } = useText()
  return (
    <Disclosure summary={t("request_rules.title")} open={open}>
      <Checks
        legend={t("request_rules.legend")}
        options={ruleNames.map((value) => ({
          value,
          label: t(`request_rules.${value}`),
          hint: t(`request_rules.${value}.hint`),
        }))}
        {...checks}
      />
    </Disclosure>
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
