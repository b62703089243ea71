import { useParams } from "@tanstack/react-router"
import { AdminService } from "../../../src/gen/core/admin/v1/admin_service_pb.ts"
import { IDPOwnerType, type Provider } from "../../../src/gen/core/idp/v1/idp_pb.ts"
import { ManagementService } from "../../../src/gen/core/management/v1/management_service_pb.ts"
import { TextQueryMethod } from "../../../src/gen/core/v1/object_pb.ts"
import { Alert, Badge } from "../../kit/index.ts"
import { ActionButton, ConfirmButton } from "../form/index.ts"
import {
  actionColumn,
  Clip,
  Collection,
  found,
  Histories,
  History,
  type ListColumn,
  Listing,
  pageOf,
  StateBadge,
} from "../list/index.ts"
import {
  call,
  Link,
  type Needs,
  notify,
  Page,
  Part,
  Section,
  t,
  useOrganizationCrumbs,
  useReadIfAllowed,
} from "../shell/index.ts"
import { IdpForm, nameOfKind } from "./idp-form.tsx"
import { kindNameOf, type ProviderOwner } from "./provider-kind.ts"
import { TestIdp, TestResult } from "./provider-test.tsx"

const admin = AdminService.method
const management = ManagementService.method

/** What everybody on the instance may sign in with beside a password. */
export function IdentityProvidersPage() {
  return (
    <Page title={t("nav.identity-providers")} owner={t("nav.instance")}>
      <p className="quiet section-lead">{t("idps.lead")}</p>
      <TestResult />
      <Part rows={4}>
        <Idps place={undefined} />
      </Part>
      <Histories of={["identityProviders"]} />
    </Page>
  )
}

/** The same for the people of one organisation. */
export function OrganizationIdentityProvidersPage() {
  const { organizationId } = useParams({
    from: "/organizations/$organizationId/identity-providers",
  })
  const crumbs = useOrganizationCrumbs(organizationId)
  return (
    <Page title={t("nav.identity-providers")} crumbs={crumbs}>
      <p className="quiet section-lead">{t("idps.lead_organization")}</p>
      <TestResult />
      <Part rows={4}>
        <Idps place={organizationId} />
      </Part>
      <History of={{ case: "identityProvidersOf", value: organizationId }} />
    </Page>
  )
}

type OwnerProps = { readonly place: ProviderOwner }

/** Those of a place; an organisation also offers those of the instance, and changes none. */
function Idps({ place }: OwnerProps) {
  const shared = useShared(place)
  if (place === undefined) {
    return (
      <>
        <Hindrance place={place} />
        <Collection
          {...shared}
          method={admin.listProviders}
          ask={(asked) => ({ query: pageOf(asked), queries: namedLike(asked.text) })}
          find={({ result, details }) => found(result, details)}
          needs={{
            create: admin.addGenericOIDCProvider,
            edit: admin.updateGenericOIDCProvider,
            remove: admin.deleteProvider,
          }}
          turn={(provider) => (
            <OfferButton {...shared.turn} provider={provider} needs={admin.addIDPToLoginPolicy} />
          )}
          remove={({ id }) => call(admin.deleteProvider, { id })}
        />
      </>
    )
  }
  const [own, whole] = [
    { query: { case: "ownerTypeQuery", value: { ownerType: IDPOwnerType.IDP_OWNER_TYPE_ORG } } },
    { query: { case: "ownerTypeQuery", value: { ownerType: IDPOwnerType.IDP_OWNER_TYPE_SYSTEM } } },
  ] as const
  return (
    <>
      <Hindrance place={place} />
      <Collection
        {...shared}
        method={management.listProviders}
        within={place}
        ask={(asked) => ({ query: pageOf(asked), queries: [own, ...namedLike(asked.text)] })}
        find={({ result, details }) => found(result, details)}
        needs={{
          create: management.addGenericOIDCProvider,
          edit: management.updateGenericOIDCProvider,
          remove: management.deleteProvider,
        }}
        turn={(provider) => (
          <OfferButton
            {...shared.turn}
            provider={provider}
            needs={management.addIDPToLoginPolicy}
          />
        )}
        remove={({ id }) => call(management.deleteProvider, { id }, { within: place })}
      />
      <Listing
        caption={t("idps.of_instance")}
        name="instance"
        unsearched
        method={management.listProviders}
        within={place}
        ask={(asked) => ({ query: pageOf(asked), queries: [whole] })}
        find={({ result, details }) => found(result, details)}
        columns={[...shared.columns, turnColumn(shared.turn)]}
        keyOf={({ id }) => id}
        empty={<p className="quiet section-lead">{t("idps.of_instance_none")}</p>}
        frame={(list) => <Section title={t("idps.of_instance")}>{list}</Section>}
      />
    </>
  )
}

const namedLike = (name: string) =>
  name === ""
    ? []
    : [
        {
          query: {
            case: "idpNameQuery",
            value: { name, method: TextQueryMethod.CONTAINS_IGNORE_CASE },
          },
        } as const,
      ]

type OfferActions = {
  readonly isOn: (provider: Provider) => boolean
  readonly act: (provider: Provider, on: boolean) => Promise<unknown>
  readonly off: string
}

const turnColumn = (turn: OfferActions) =>
  actionColumn((provider: Provider) => (
    <OfferButton {...turn} provider={provider} needs={management.addIDPToLoginPolicy} />
  ))

/** Offers a provider to people or, after a question that can be undone, no longer. */
function OfferButton(props: OfferActions & Needs & { readonly provider: Provider }) {
  const { provider, isOn, act, off, needs } = props
  const { name } = provider
  const turnOn = () => act(provider, true)
  if (!isOn(provider)) {
    return <ActionButton small needs={needs} label={t("action.activate")} act={turnOn} />
  }
  return (
    <ConfirmButton
      small
      needs={needs}
      what={name}
      consequence={off}
      label={t("action.deactivate")}
      act={() => act(provider, false)}
      done={() => notify({ text: t("notice.deactivated", { name }), undo: turnOn })}
    />
  )
}

const all = { query: { limit: 1000 } }

const useInstanceLinks = () => useReadIfAllowed(admin.listLoginPolicyIDPs, all)?.result
const useLinksOf = (place: ProviderOwner) =>
  useReadIfAllowed(management.listLoginPolicyIDPs, all, withinOf(place))?.result

const withinOf = (place: ProviderOwner) => (place === undefined ? {} : { within: place })

/** What a list of providers is made of, wherever they are. */
function useShared(place: ProviderOwner) {
  const useLinks = place === undefined ? useInstanceLinks : useLinksOf
  const linked = new Set(useLinks(place)?.map(({ idpId }) => idpId))
  const within = withinOf(place)
  const isOn = ({ id }: Provider) => linked.has(id)
  const turn: OfferActions = {
    isOn,
    act: ({ id: idpId, owner: ownerType }, on) => {
      if (place === undefined) {
        return on
          ? call(admin.addIDPToLoginPolicy, { idpId })
          : call(admin.removeIDPFromLoginPolicy, { idpId })
      }
      return on
        ? call(management.addIDPToLoginPolicy, { idpId, ownerType }, within)
        : call(management.removeIDPFromLoginPolicy, { idpId }, within)
    },
    off: t("idps.off"),
  }
  const columns: readonly ListColumn<Provider>[] = [
    { label: t("field.name"), cell: ({ name }) => <Clip text={name} /> },
    { label: t("field.kind"), cell: (provider) => <KindBadge provider={provider} /> },
    { label: t("field.state"), cell: (provider) => <StateBadge isOn={isOn(provider)} /> },
  ]
  return {
    family: "idps",
    columns,
    turn,
    keyOf: ({ id }: Provider) => id,
    nameOf: ({ name }: Provider) => name,
    form:
      (provider: Provider | undefined) =>
      ({ close }: { readonly close: () => void }) => (
        <IdpForm place={place} provider={provider} close={close} />
      ),
    more: (provider: Provider) => {
      const kind = kindNameOf(provider)
      return (
        kind && (
          <>
            <TestIdp id={provider.id} name={provider.name} kind={kind} />
            {kind === "saml" && <NewCertificate place={place} provider={provider} />}
          </>
        )
      )
    },
    isFixed: (provider: Provider) => kindNameOf(provider) === undefined,
  } as const
}

type NewCertificateProps = OwnerProps & { readonly provider: Provider }

/** Makes what a provider knows us by anew. */
function NewCertificate({ place, provider: { id, name } }: NewCertificateProps) {
  const { regenerateSAMLProviderCertificate: needs } = place === undefined ? admin : management
  const act = () =>
    place === undefined
      ? call(admin.regenerateSAMLProviderCertificate, { id })
      : call(management.regenerateSAMLProviderCertificate, { id }, withinOf(place))
  const said = { what: name, consequence: t("idps.saml.certificate_text") }
  return (
    <ConfirmButton small needs={needs} act={act} {...said} label={t("idps.saml.certificate")} />
  )
}

function KindBadge({ provider }: { readonly provider: Provider }) {
  const kind = kindNameOf(provider)
  return <Badge>{kind ? nameOfKind(kind) : (provider.config?.config.case ?? "")}</Badge>
}

type ExternalSignInPolicy = { readonly isOffered: boolean; readonly isDefault: boolean }

function useInstancePolicy(): ExternalSignInPolicy | undefined {
  const policy = useReadIfAllowed(admin.getLoginPolicy)?.policy
  return policy && { isOffered: policy.allowExternalIdp, isDefault: false }
}

function usePolicyOf(place: ProviderOwner): ExternalSignInPolicy | undefined {
  const found = useReadIfAllowed(management.getLoginPolicy, {}, withinOf(place))
  const { policy, isDefault = false } = found ?? {}
  return policy && { isOffered: policy.allowExternalIdp, isDefault }
}

/** Says where the login policy leaves out all providers, and leads there. */
function Hindrance({ place }: OwnerProps) {
  const usePolicy = place === undefined ? useInstancePolicy : usePolicyOf
  const said = usePolicy(place)
  if (!said) return null
  const link =
    place === undefined ? (
      <Link to="/settings">{t("idps.to_policy")}</Link>
    ) : (
      <Link to="/organizations/$organizationId/policies" params={{ organizationId: place }}>
        {t("idps.to_policy")}
      </Link>
    )
  if (!said.isOffered) {
    return (
      <Alert tone="warning">
        {t("idps.policy_off")} {link}
      </Alert>
    )
  }
  if (!said.isDefault) return <p className="small">{link}</p>
  return (
    <Alert tone="warning">
      {t("idps.policy_default")} {link}
    </Alert>
  )
}
