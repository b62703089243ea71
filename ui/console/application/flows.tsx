import { Fragment } from "react"
import { ApplicationService } from "../../../src/gen/core/application/v2/application_service_pb.ts"
import { Alert, Checks, Disclosure } from "../../kit/index.ts"
import { type Controls, defineForm, EditSection } from "../form/index.ts"
import { type FactsProps, t, ValueList } from "../shell/index.ts"
import {
  type AuthName,
  authMethods,
  authNames,
  authOf,
  type GrantName,
  grantNames,
  grantsOf,
  grantTypes,
  type PkceName,
  pkceNames,
  pkceOf,
  pkceRules,
  type ResponseName,
  type RuleName,
  responseNames,
  responsesOf,
  responseTypes,
  ruleNames,
  rulesOf,
  selectResponseTypes,
} from "./protocol.ts"
import { type OidcPart, updateOidc } from "./update-application.ts"

/** Grant types, response types and client authentication of an application. */
export function Flows(part: OidcPart) {
  return (
    <EditSection
      needs={ApplicationService.method.updateApplication}
      title={t("flows.title")}
      rows={flowRows(part)}
      form={flowForm(part)}
    />
  )
}

function flowRows({ oidc }: OidcPart): FactsProps["rows"] {
  const isImplicit = oidc.grantTypes.includes(grantTypes.implicit)
  const rules = rulesOf(oidc).map((name) => t(`request_rules.${name}`))
  return [
    [
      t("flows.grants"),
      <ValueList key="grants" values={grantsOf(oidc).map((name) => t(`grant.${name}`))} />,
    ],
    [
      t("flows.responses"),
      isImplicit && <ValueList key="responses" code values={responsesOf(oidc).map(toWireName)} />,
    ],
    [t("flows.auth"), t(`auth.${authOf(oidc)}`)],
    [t("pkce.title"), t(`pkce.${authOf(oidc) === "none" ? "required" : pkceOf(oidc)}`)],
    [t("plain_oauth.title"), oidc.plainOauth && t("detail.on")],
    [t("request_rules.title"), rules.length > 0 && <ValueList key="rules" values={rules} />],
  ]
}

const toWireName = (name: ResponseName) => name.replace("id_token_token", "id_token token")

type FlowValues = {
  readonly grants: readonly GrantName[]
  readonly responses: readonly ResponseName[]
  readonly auth: AuthName
  readonly pkce: PkceName
  readonly plainOauth: boolean
  readonly rules: readonly RuleName[]
}

const flowForm = (part: OidcPart) =>
  defineForm<FlowValues, unknown>({
    initial: {
      grants: grantsOf(part.oidc),
      responses: responsesOf(part.oidc),
      auth: authOf(part.oidc),
      pkce: pkceOf(part.oidc),
      plainOauth: part.oidc.plainOauth,
      rules: rulesOf(part.oidc),
    },
    save: ({ grants, responses, auth, pkce, plainOauth, rules }) =>
      updateOidc(part, {
        grantTypes: grants.map((name) => grantTypes[name]),
        responseTypes: responses.map((name) => responseTypes[name]),
        authMethodType: authMethods[auth],
        pkce: pkceRules[pkce],
        plainOauth,
        requestRules: Object.fromEntries(ruleNames.map((name) => [name, rules.includes(name)])),
      }),
    disabled: ({ grants }) => grants.length === 0,
    fields: (controls) => [
      controls.contested(
        "grants",
        t("flows.grants"),
        <Checks
          legend={t("flows.grants")}
          options={grantNames.map((value) => ({
            value,
            label: t(`grant.${value}`),
            hint: t(`grant.${value}.hint`),
          }))}
          values={controls.values.grants}
          onChange={(chosen) => {
            const { grants, responses } = controls.values
            const fresh = chosen.includes("implicit") && !grants.includes("implicit")
            const newResponses = fresh ? ([...responses, "id_token_token"] as const) : responses
            controls.change({
              grants: chosen,
              responses: selectResponseTypes(chosen, newResponses),
            })
          }}
        />,
      ),
      controls.values.grants.length === 0 && <Alert tone="warning">{t("flows.no_grant")}</Alert>,
      controls.values.grants.includes("implicit") && implicitFields(controls),
      controls.choice("auth", t("flows.auth"), {
        of: authNames,
        label: (one) => t(`auth.${one}`),
        hints: (one) => t(`auth.${one}.hint`),
      }),
      controls.values.auth !== "none" &&
        controls.select("pkce", t("pkce.title"), {
          of: pkceNames,
          label: (one) => t(`pkce.${one}`),
          hint: t("pkce.hint"),
        }),
      controls.check("plainOauth", t("plain_oauth.title"), t("plain_oauth.hint")),
      // Options that most applications don't need; each rejects requests that don't follow it.
      <Disclosure
        key="rules"
        summary={t("request_rules.title")}
        open={rulesOf(part.oidc).length > 0}
      >
        {controls.checks("rules", t("request_rules.legend"), {
          of: ruleNames,
          label: (one) => t(`request_rules.${one}`),
          hints: (one) => t(`request_rules.${one}.hint`),
        })}
      </Disclosure>,
    ],
  })

/**
 * RFC 9700 §2.1.2 advises against the implicit flow: warns before saving and offers the
 * alternative.
 */
const implicitFields = ({ values: { grants, responses }, ...controls }: Controls<FlowValues>) => (
  <Fragment key="implicit">
    <Alert tone="warning">{t("problem.grant_types.implicit")}</Alert>
    {controls.contested(
      "responses",
      t("flows.responses"),
      <Checks
        legend={t("flows.responses")}
        options={responseNames.map((value) => ({ value, label: toWireName(value) }))}
        values={responses}
        onChange={(chosen) => controls.change({ responses: selectResponseTypes(grants, chosen) })}
      />,
    )}
  </Fragment>
)
