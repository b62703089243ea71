import type { AnchorHTMLAttributes, ButtonHTMLAttributes } from "react"

export type ButtonKind = "primary" | "normal" | "danger" | "plain"

type ButtonStyle = {
  readonly kind?: ButtonKind | undefined
  readonly wide?: boolean | undefined
  readonly small?: boolean | undefined
}

type ButtonProps = ButtonStyle & Omit<ButtonHTMLAttributes<HTMLButtonElement>, "className">

/** A button labeled with its action; at most one per page is `primary`. */
export function Button({ kind, wide, small, type = "button", ...rest }: ButtonProps) {
  return <button type={type} className={buttonClass({ kind, wide, small })} {...rest} />
}

type ButtonLinkProps = ButtonStyle & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "className">

/** A link styled as a button, also if a router adds its own class. */
export function ButtonLink({ kind, wide, small, ...rest }: ButtonLinkProps) {
  return <a {...rest} className={buttonClass({ kind, wide, small })} />
}

function buttonClass({ kind = "normal", wide, small }: ButtonStyle): string {
  const names = ["button"]
  if (kind !== "normal") names.push(`button-${kind}`)
  if (wide) names.push("button-wide")
  if (small) names.push("button-small")
  return names.join(" ")
}
