import { Button } from "../../kit/button.tsx"
import { TextField } from "../../kit/field.tsx"
import { FlowForm, type Target } from "../flow.tsx"
import { Frame, Heading, type PageProps } from "../frame.tsx"

export type PasskeyLinkPageProps = PageProps & {
  readonly form: Target
  readonly userId: string
  readonly codeId: string
  /** The key of the link besides its code; empty if the link has none. */
  readonly linkKey: string
  readonly error?: string | undefined
}

/**
 * The page of a passkey registration link; reveals nothing until the code is verified. Posts
 * `userId`, `codeId`, `key` and `code`.
 */
export function PasskeyLinkPage(props: PasskeyLinkPageProps) {
  const { t, form, userId, codeId, linkKey, error } = props
  return (
    <Frame {...props} title={t("passkey_link.title")}>
      <Heading title={t("passkey_link.title")} lead={t("passkey_link.lead")} />
      <FlowForm target={form}>
        <input type="hidden" name="userId" value={userId} />
        <input type="hidden" name="codeId" value={codeId} />
        {linkKey && <input type="hidden" name="key" value={linkKey} />}
        <div data-code-field="">
          <TextField
            label={t("factor.code")}
            name="code"
            error={error}
            data-from-link={error ? undefined : ""}
            autoComplete="off"
            autoCorrect="off"
            autoCapitalize="none"
            spellCheck={false}
            maxLength={128}
            required
          />
        </div>
        <Button kind="primary" type="submit" wide>
          {t("factor.submit")}
        </Button>
      </FlowForm>
    </Frame>
  )
}
