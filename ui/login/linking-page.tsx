import { Button, ButtonLink } from "../kit/button.tsx"
import { type Account, AccountPerson, FlowForm, type Target } from "./flow.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type LinkingPageProps = PageProps & {
  readonly form: Target
  readonly intentId: string
  readonly provider: string
  /** Who it is at the provider. */
  readonly identity: {
    readonly userName: string
    readonly displayName: string
    readonly email: string
  }
  /** Who it is here. */
  readonly account: Account
  /** Leads back without anything being linked. */
  readonly accountHref: string
}

/** Asks somebody who has shown both whether the account elsewhere is to sign them in here. */
export function LinkingPage(props: LinkingPageProps) {
  const { form, intentId, provider, identity, account, accountHref } = props
  const t = props.t.on("linking")
  const name = identity.email || identity.userName || identity.displayName
  return (
    <Frame {...props} title={t("linking.title")}>
      <Heading title={t("linking.title")} lead={t("linking.lead", { provider, name })} />
      <div className="account-chip">
        <AccountPerson account={account} />
      </div>
      <FlowForm target={form}>
        <input type="hidden" name="intent" value={intentId} />
        <Button kind="primary" type="submit" wide>
          {t("linking.submit")}
        </Button>
      </FlowForm>
      <ButtonLink href={accountHref} wide>
        {t("consent.cancel")}
      </ButtonLink>
    </Frame>
  )
}
