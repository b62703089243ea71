import { createLink } from "@tanstack/react-router"
import { ButtonLink } from "../../kit/index.ts"

export { Link, type LinkOptions } from "@tanstack/react-router"

/** A router link styled as a button. */
export const LinkButton = createLink(ButtonLink)
