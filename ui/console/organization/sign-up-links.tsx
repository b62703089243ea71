import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { useState } from "react"
import {
  type CreateSignUpLinkResponse,
  type SignUpLink,
  SignUpLinkState,
  SignUpService,
} from "../../../src/gen/core/signup/v2/signup_service_pb.ts"
import { Badge } from "../../kit/index.ts"
import { ConfirmButton, DialogButton, formOf, linesOf } from "../form/index.ts"
import { actionColumn, found, LinkBox, Listing, pageOf, Time } from "../list/index.ts"
import { call, Section, type TextKey, t } from "../shell/index.ts"

const { createSignUpLink, listSignUpLinks, revokeSignUpLink } = SignUpService.method
const dayMs = 86_400_000

/** The links with which people create their own accounts in an organization. */
export function SignUpLinks({ organizationId }: { readonly organizationId: string }) {
  const [created, setCreated] = useState<CreateSignUpLinkResponse>()
  const title = t("sign_up_links.title")
  const add = (
    <DialogButton
      family="sign_up_links"
      form={linkForm(organizationId, setCreated)}
      needs={createSignUpLink}
      label={t("sign_up_links.create")}
    />
  )
  const empty = <p className="quiet section-lead">{t("sign_up_links.empty")}</p>
  return (
    <Listing
      name="sign_up_links"
      caption={title}
      method={listSignUpLinks}
      ask={(asked) => ({ organizationId, pagination: { ...pageOf(asked), asc: false } })}
      find={({ links, pagination }) => found(links, pagination)}
      keyOf={({ id }) => id}
      unsearched
      size={10}
      columns={[
        { label: t("field.created"), cell: (link) => <Time at={link.creationDate} /> },
        { label: t("field.state"), cell: (link) => <State link={link} /> },
        { label: t("sign_up_links.uses"), cell: usesIn },
        { label: t("sign_up_links.last_use"), cell: (link) => <Time at={link.lastUseDate} /> },
        { label: t("field.expires"), cell: (link) => <Time at={link.expirationDate} /> },
        { label: t("sign_up_links.domains"), cell: (link) => link.allowedDomains.join(", ") },
        actionColumn<SignUpLink>((link) => (
          <Revoke link={link} done={() => created?.id === link.id && setCreated(undefined)} />
        )),
      ]}
      empty={empty}
      frame={(list) => (
        <Section title={title} actions={add}>
          {created && (
            <div className="stack">
              <p>{t("sign_up_links.once")}</p>
              <LinkBox link={created.url} what={title} qr={t("sign_up_links.qr")} />
            </div>
          )}
          {list}
        </Section>
      )}
    />
  )
}

const usesIn = ({ uses, useLimit }: SignUpLink): string =>
  t("sign_up_links.used", { uses, limit: useLimit })

type LinkProps = { readonly link: SignUpLink }

function State({ link: { state, requireApproval } }: LinkProps) {
  const isActive = state === SignUpLinkState.ACTIVE
  return (
    <span className="badges">
      <Badge tone={isActive ? "done" : "quiet"}>{t(words[state] ?? "filter.active")}</Badge>
      {requireApproval && <Badge>{t("sign_up_links.with_approval")}</Badge>}
    </span>
  )
}

/** What ended a link. */
const words: Readonly<Partial<Record<SignUpLinkState, TextKey>>> = {
  [SignUpLinkState.EXPIRED]: "sign_up_links.expired",
  [SignUpLinkState.USED_UP]: "sign_up_links.used_up",
  [SignUpLinkState.REVOKED]: "sign_up_links.revoked",
}

function Revoke({ link, done }: LinkProps & { readonly done: () => unknown }) {
  if (link.state !== SignUpLinkState.ACTIVE) return null
  return (
    <ConfirmButton
      small
      needs={revokeSignUpLink}
      label={t("sign_up_links.revoke")}
      what={usesIn(link)}
      consequence={t("sign_up_links.revoke_text")}
      act={() => call(revokeSignUpLink, { id: link.id })}
      done={done}
    />
  )
}

const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10)

const linkForm = (organizationId: string, onCreated: (created: CreateSignUpLinkResponse) => void) =>
  formOf({
    initial: { useLimit: "10", until: dayOf(Date.now() + 7 * dayMs), domains: "", approval: false },
    refusals: { until: ["expirationDate"], domains: ["allowedDomains"] },
    save: ({ useLimit, until, domains, approval }) =>
      call(createSignUpLink, {
        organizationId,
        useLimit: Number(useLimit),
        expirationDate: timestampFromMs(Date.parse(until)),
        allowedDomains: linesOf(domains),
        requireApproval: approval,
      }),
    done: (created, close) => {
      onCreated(created)
      close()
    },
    fields: ({ text, area, check }) => [
      text("useLimit", t("sign_up_links.limit"), {
        hint: t("sign_up_links.limit_hint"),
        type: "number",
        min: "1",
        max: "10000",
        required: true,
      }),
      text("until", t("keys.until"), {
        hint: t("sign_up_links.until_hint"),
        type: "date",
        min: dayOf(Date.now() + dayMs),
        required: true,
      }),
      area("domains", t("sign_up_links.domains"), {
        hint: t("sign_up_links.domains_hint"),
        placeholder: "example.com",
        rows: 3,
        spellCheck: false,
        optional: true,
      }),
      check("approval", t("sign_up_links.approval"), t("sign_up_links.approval_hint")),
    ],
  })
