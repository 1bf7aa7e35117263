/** How S3 clients are set up with a key: the AWS command line, and rclone. */

interface S3Secret {
  accessKeyId: string;
  secretAccessKey: string;
}

interface Where {
  origin: string;
  /** A volume of the account, for the example. */
  volume: string | undefined;
  region: string | undefined;
}

export function awsSamples(
  { accessKeyId, secretAccessKey }: S3Secret,
  { origin, volume = "VOLUME", region = "REGION" }: Where,
) {
  const endpoint = `${origin}/s3`;
  const aws = [
    "# ~/.aws/credentials",
    "[millrace]",
    `aws_access_key_id = ${accessKeyId}`,
    `aws_secret_access_key = ${secretAccessKey}`,
    "",
    "# ~/.aws/config",
    "[profile millrace]",
    `region = ${region}`,
    `endpoint_url = ${endpoint}`,
    "",
    `aws --profile millrace s3 ls s3://${volume}`,
  ];
  const rclone = [
    "# ~/.config/rclone/rclone.conf",
    "[millrace]",
    "type = s3",
    "provider = Other",
    `access_key_id = ${accessKeyId}`,
    `secret_access_key = ${secretAccessKey}`,
    `endpoint = ${endpoint}`,
    `region = ${region}`,
    "force_path_style = true",
    "",
    `rclone ls millrace:${volume}`,
  ];
  return [
    { language: "aws", text: aws.join("\n") },
    { language: "rclone", text: rclone.join("\n") },
  ];
}
