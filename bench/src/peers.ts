/** The peers that Millrace is measured against. */
