import { Button } from "../kit/button.tsx"
import { Frame, Heading, type PageProps } from "./frame.tsx"

export type FormPostPageProps = PageProps & {
  /** The registered address that it goes to. */
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
} & (
    | {
        readonly application: string
        /** The answer is an error: nobody has signed in. */
        readonly isRefused?: boolean
        readonly provider?: undefined
      }
    /** Where somebody is to sign in, for a request that goes there. */
    | { readonly provider: string; readonly application?: undefined }
  )

/**
 * OAuth 2.0 Form Post Response Mode §2, and SAML Bindings §3.5: carries an answer, or a request to
 * an identity provider, in a form that submits itself.
 */
export function FormPostPage(props: FormPostPageProps) {
  const { t, action, fields } = props
  const { title, lead } = wordsFor(props)
  return (
    <Frame {...props} title={title}>
      <Heading title={title} lead={lead} />
      <form method="post" action={action} data-autosubmit="">
        {Object.entries(fields).map(([name, value]) => (
          <input type="hidden" key={name} name={name} value={value} />
        ))}
        <Button type="submit" wide>
          {t("form_post.submit")}
        </Button>
      </form>
    </Frame>
  )
}

function wordsFor(props: FormPostPageProps) {
  const { t } = props
  if (props.provider !== undefined) {
    const { provider } = props
    return { title: t("form_post.away_title"), lead: t("form_post.away_lead", { provider }) }
  }
  const { application, isRefused = false } = props
  return isRefused
    ? { title: t("continue.refused_title"), lead: t("form_post.refused", { application }) }
    : { title: t("form_post.title"), lead: t("form_post.lead", { application }) }
}
