import { useSuspenseQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Disclosure } from "../../kit/index.ts"
import { copied, Facts, Section, t, upstreamOfServer, ValueList } from "../shell/index.ts"
import { methodOf } from "./api.tsx"
import { appTypeOf, authOf, grantsOf, scopeOf } from "./protocol.ts"
import { isForProxies } from "./proxy-snippets.ts"
import { SamlConnection } from "./saml-connection.tsx"
import { type ClientDescription, type EndpointName, endpointNames } from "./snippet.ts"
import { Snippets } from "./snippet-list.tsx"
import { snippetsOf } from "./snippets.ts"
import { TestSignIn } from "./test-sign-in.tsx"
import type { ApplicationPart } from "./update-application.ts"

type ConnectProps = ApplicationPart & {
  /** While it is shown, this once. */
  readonly secret?: string | undefined
}

/** What an application is told of us, and what to paste where. */
export function Connect({ application, secret }: ConnectProps) {
  const { configuration } = application
  switch (configuration.case) {
    case "samlConfiguration":
      return <SamlConnection application={application} saml={configuration.value} />
    case "oidcConfiguration":
    case "apiConfiguration":
      return <Client application={application} configuration={configuration} secret={secret} />
    default:
      return null
  }
}

type Configuration = Extract<
  ApplicationPart["application"]["configuration"],
  { readonly case: "oidcConfiguration" | "apiConfiguration" }
>

type ClientProps = ConnectProps & { readonly configuration: Configuration }

function Client({ application, configuration, secret }: ClientProps) {
  const [passphrase] = useState(randomWord)
  const { data: upstream } = useSuspenseQuery({
    queryKey: ["upstream"],
    queryFn: upstreamOfServer,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const { at, introspectionMethods } = useDiscovery()
  const issuer = location.origin
  const { clientId } = configuration.value
  const from: ClientDescription = {
    issuer,
    upstream,
    at,
    clientId,
    secret,
    passphrase,
    ...(configuration.case === "apiConfiguration" ? ofApi(configuration) : ofOidc(configuration)),
  }
  const isPlainPublic = from.auth === "none" && !isForProxies(from.redirectUris)
  return (
    <>
      <Section title={t("applications.connect")}>
        <Facts rows={[copied(t("field.issuer"), issuer), copied(t("field.client_id"), clientId)]} />
        {isPlainPublic && <p className="quiet">{t("secret.none")}</p>}
        <Disclosure summary={t("connect.endpoints")}>
          <EndpointList at={at} introspectionMethods={introspectionMethods} />
        </Disclosure>
        <Snippets snippets={snippetsOf(from)} />
      </Section>
      {/* It leaves the page, and a secret is shown once. */}
      {!from.isApi && secret === undefined && (
        <TestSignIn
          application={application}
          endpoint={at("authorization_endpoint")}
          naming="client_id"
        />
      )}
    </>
  )
}

type ConfigurationOf<Case> = Extract<Configuration, { readonly case: Case }>

type DescribedByConfiguration = Pick<
  ClientDescription,
  "auth" | "isApi" | "appType" | "hasCode" | "redirectUris" | "scope"
>

const ofApi = ({ value }: ConfigurationOf<"apiConfiguration">): DescribedByConfiguration => ({
  auth: methodOf(value),
  isApi: true,
  appType: "web",
  hasCode: false,
  redirectUris: [],
  scope: "",
})

const ofOidc = ({ value }: ConfigurationOf<"oidcConfiguration">): DescribedByConfiguration => ({
  auth: authOf(value),
  isApi: false,
  appType: appTypeOf(value),
  hasCode: grantsOf(value).includes("authorization_code"),
  redirectUris: value.redirectUris,
  scope: scopeOf(value),
})

const discoveryPath = "/.well-known/openid-configuration"

/** What discovery says, so that nothing is named here that is not there. */
function useDiscovery() {
  const { data } = useSuspenseQuery({
    queryKey: ["discovery"],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<Record<string, unknown>> =>
      (await fetch(discoveryPath, { signal })).json(),
  })
  const methods = data.introspection_endpoint_auth_methods_supported
  return {
    at: (name: EndpointName) => String(data[name] ?? ""),
    introspectionMethods: Array.isArray(methods) ? methods.map(String) : [],
  }
}

type EndpointListProps = Pick<ClientDescription, "at"> & {
  /** The endpoint accepts fewer methods than the token endpoint. */
  readonly introspectionMethods: readonly string[]
}

function EndpointList({ at, introspectionMethods }: EndpointListProps) {
  const named = endpointNames.flatMap((name) => {
    const endpoint = copied(t(`connect.${name}`), at(name))
    if (name !== "introspection_endpoint") return [endpoint]
    const methods = <ValueList key="methods" code values={introspectionMethods} />
    return [endpoint, [t("connect.introspection_methods"), methods] as const]
  })
  const discovery = copied(t("connect.discovery"), location.origin + discoveryPath)
  return <Facts rows={[discovery, ...named]} />
}

/** 32 characters; the generator is there on plain http, too. */
function randomWord(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")
}
