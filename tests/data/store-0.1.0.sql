BEGIN TRANSACTION;
CREATE TABLE accesses (record integer primary key, count integer not null, last integer not null);
INSERT INTO "accesses" VALUES(2,1,1794744262400130);
INSERT INTO "accesses" VALUES(3,1,1794744262400130);
INSERT INTO "accesses" VALUES(6,1,1794744262400130);
INSERT INTO "accesses" VALUES(7,1,1794744262400130);
INSERT INTO "accesses" VALUES(9,1,1794744262400130);
INSERT INTO "accesses" VALUES(11,1,1794744262400130);
INSERT INTO "accesses" VALUES(12,1,1794744262400130);
INSERT INTO "accesses" VALUES(14,1,1794744262400130);
CREATE TABLE contents (
    content integer primary key,
    text text not null,
    payload text not null,
    salt blob not null
);
INSERT INTO "contents" VALUES(2,'staging listens on port 5433','{}',X'06B7DD66ACF81464E4A20FD5C3DA58F2');
INSERT INTO "contents" VALUES(3,'git: merge style: merge','{"domain":"git","name":"merge style","value":"merge"}',X'93FDAAC26B526C0AB4763B3EA05CD2F4');
INSERT INTO "contents" VALUES(5,'git: merge style: rebase','{"domain":"git","name":"merge style","value":"rebase"}',X'D97FBDF3F696994F9C32FBB920218C9E');
INSERT INTO "contents" VALUES(6,'hello','{"index":0,"metadata":{},"role":"user"}',X'8E4560AEB60B8F6CB35D7C7581224476');
INSERT INTO "contents" VALUES(7,'what changed?','{"index":1,"metadata":{},"role":"user"}',X'93692F32DFF4650D2A8217FD815CAF3E');
INSERT INTO "contents" VALUES(9,'the port','{"index":2,"metadata":{},"role":"user"}',X'33BF540459BFA3A0735C77E5AFFB05E8');
INSERT INTO "contents" VALUES(11,'Ada','{"aliases":[],"name":"Ada","properties":{},"type":"Person"}',X'B11798D7F1EF65465C12839DE87467ED');
INSERT INTO "contents" VALUES(12,'Ada is on call','{"entity_ids":["01m7fhg7qa5eq4nhh2mrs87q5t"]}',X'AA896245075D11A994A4BC6755B6B7AC');
INSERT INTO "contents" VALUES(14,'upgrade Postgres','{"blocked_by":[],"priority":3,"status":"active"}',X'FD80B90D5BDEBAF755B2CEF402AC0FB6');
CREATE TABLE fields (
    name integer not null, value not null, content integer not null,
    primary key (name, value, content)
) without rowid;
INSERT INTO "fields" VALUES(8,'git',3);
INSERT INTO "fields" VALUES(9,'merge style',3);
INSERT INTO "fields" VALUES(8,'git',5);
INSERT INTO "fields" VALUES(9,'merge style',5);
INSERT INTO "fields" VALUES(11,0,6);
INSERT INTO "fields" VALUES(12,'user',6);
INSERT INTO "fields" VALUES(11,1,7);
INSERT INTO "fields" VALUES(12,'user',7);
INSERT INTO "fields" VALUES(11,2,9);
INSERT INTO "fields" VALUES(12,'user',9);
INSERT INTO "fields" VALUES(9,'Ada',11);
INSERT INTO "fields" VALUES(15,'Person',11);
INSERT INTO "fields" VALUES(19,'active',14);
INSERT INTO "fields" VALUES(20,3,14);
CREATE TABLE journal (
    seq integer primary key,
    at integer not null,
    operation integer not null,
    scope integer not null,
    record integer,
    other integer,
    actor integer not null,
    reason text,
    digest blob not null,
    chain blob not null
);
INSERT INTO "journal" VALUES(1,0,7,0,NULL,NULL,1,'all-MiniLM-L6-v2@int8-g1/384',X'',X'64F7EA43819681E96205D8C8294282FF241F534CBB66DF4FCD759B191BBAE95B');
INSERT INTO "journal" VALUES(2,1794744262042952,1,1,2,NULL,2,NULL,X'8E4E82965DDB3DE7DA900ECC6F8FE10B4FBE9DF67FCEB825A8C2CBAC82595A50',X'96476D63BE10A378DA40B2E52464AE3A2DB2763FE2006C137A06C47BFBBF78A8');
INSERT INTO "journal" VALUES(3,1794744262359639,1,1,3,NULL,2,NULL,X'6CFC0AAD6C9292245994728AC6D94A503B0CD72239A102E9E8DE2DC91A08EB72',X'B7CBE9FEC155F6F8D4F522DAEEA2910646C24F7D51D8DCBE8E2E0B607072F1B8');
INSERT INTO "journal" VALUES(4,1794744262362700,2,1,3,NULL,2,NULL,X'A441F598074EF50F1FA8DF908E0A5354BCCEAA8A4C0FC3E00C33D74211459EA5',X'B934321E9D3074443E0D43C452723803A5C11B2266A344EF511DAD1E3BE85D3D');
INSERT INTO "journal" VALUES(5,1794744262362700,1,1,3,NULL,2,NULL,X'E8DF6456111772E55B28F4A321E746943FBFAECC55E440E1D413A0D472ECA5EE',X'2F947B0BB632B520706EE34A3CAD7E5AC1F7B990B4E40833E8E47905A9AC57FB');
INSERT INTO "journal" VALUES(6,1794744262366986,1,1,6,NULL,2,NULL,X'393ACB1B4A742F09653A2F73B6611EE356439C08E67F92B7FAA8509F5C364C5F',X'6FDABA4FBF015C235E26797BC861A3AE58311BFEB8EB8276F12EE39A7CA61C99');
INSERT INTO "journal" VALUES(7,1794744262370392,1,1,7,NULL,2,NULL,X'1819ABE7874571E622AAFADAF619F1B6840441D7F22AC0A41D1184A9BAE21BE0',X'446955D9C6A9E95BDEE1FDF7E47267117F888EA5CE99DDE13A5AE63EC5494C15');
INSERT INTO "journal" VALUES(8,1794744262370392,3,1,6,7,2,NULL,X'413A70F1AAC23F295D243E7E970E24B8DF0B203FFE715A38D00C3EA35CCD5BB6',X'8911BE659F27523BE16057E8622794E1772C7FD8393F8490DC58F27625B02542');
INSERT INTO "journal" VALUES(9,1794744262373217,1,1,9,NULL,2,NULL,X'42BE5333622415A8C6AF6EFFEA5B77D21B2A451FC2C25805057412173D9C4144',X'FC0EB5D2676F72D366954FD86766574B65B0402A306025F54550CD92D7D98059');
INSERT INTO "journal" VALUES(10,1794744262373217,3,1,7,9,2,NULL,X'7138FD6B2B17452D1EAA05B1E90FF6D71E3D6756BBFCB00F1D5465654CA1FB60',X'03FB574C7460C8ED8CDCBBA443E73AE89287C48D241A2DA8116F678CC996EBBE');
INSERT INTO "journal" VALUES(11,1794744262378873,1,1,11,NULL,2,NULL,X'390CCC1C773482F7CCCC92A6DA32BE011CFCEA80B98CA9625214A7D5293F5DA9',X'A1BCF96F8D3F5E4A87D0BD846902547567DF558C8F141A74EA64289C2C595485');
INSERT INTO "journal" VALUES(12,1794744262383257,1,1,12,NULL,2,NULL,X'21A6568188F6780A3D07EE5FDA457803489990C7ABCA461456FFEE51350E3113',X'44AAF5B580F2A8204F08572FF92557CA8B450BAA8852CBBBEA09CBD59A18109A');
INSERT INTO "journal" VALUES(13,1794744262383257,3,1,12,11,2,NULL,X'7DA5439AFEA6A7E421A6F100C1CAFA127C058816E8147B78023B702BB44F6F58',X'783767EA3C1D7788A63A04DD30CA30CC56D2815A0F61B22DB8E7CB94BFC2169E');
INSERT INTO "journal" VALUES(14,1794744262387933,1,1,14,NULL,2,NULL,X'5FDDAF1FD7C48EFE673E44F5281293F23789B7481F38F1573FB517EDAA134641',X'8C913AF1BEE7B447B9B71FE18898E2AC2DE19826575CA4178EB7CFB3CEE4DF82');
INSERT INTO "journal" VALUES(15,1794744262391008,1,1,15,NULL,2,NULL,X'4D66648861D2D1CAF2800AF993008D92730840CE5B73DC25E8ED0AFD225A3319',X'A30224BDD00DDF24626C44D2C3420F8C73B951993066F42429E588A100CE88EA');
INSERT INTO "journal" VALUES(16,1794744262394092,5,1,15,NULL,2,NULL,X'45F670A6C218D96DFB1798062A4A3E0DD975FD1F1AB7C9D4FDCAF1721936F7A1',X'8921EA297F4375197CC4FBB50FC508B11C6C35F6E3808A121F34E64E2BD3545F');
CREATE TABLE labels (label integer primary key, text text not null unique);
INSERT INTO "labels" VALUES(1,'c1');
CREATE TABLE links (
    link integer primary key,
    source integer not null,
    target integer not null,
    type integer not null,
    scope integer not null,
    weight real not null,
    properties text not null,
    salt blob not null,
    to_seq integer
);
INSERT INTO "links" VALUES(8,6,7,13,1,1.0,'{}',X'B10967C19BB99978B5F68032C9F11168',NULL);
INSERT INTO "links" VALUES(10,7,9,13,1,1.0,'{}',X'ECE38B34D0331AD55BF5522EF92E037C',NULL);
INSERT INTO "links" VALUES(13,12,11,17,1,1.0,'{}',X'3A682716D967F47CD98B5602ABA9E36B',NULL);
CREATE TABLE lists (
    item integer primary key,
    scope integer not null, conversation text not null, name text not null, value text not null,
    expires_at integer not null
);
CREATE TABLE meta (name text primary key, value text not null) without rowid;
CREATE TABLE names (name integer primary key, text text not null unique);
INSERT INTO "names" VALUES(1,'agent-memory');
INSERT INTO "names" VALUES(2,'ada');
INSERT INTO "names" VALUES(3,'observation');
INSERT INTO "names" VALUES(4,'active');
INSERT INTO "names" VALUES(5,'user');
INSERT INTO "names" VALUES(6,'preference');
INSERT INTO "names" VALUES(7,'user_stated');
INSERT INTO "names" VALUES(8,'domain');
INSERT INTO "names" VALUES(9,'name');
INSERT INTO "names" VALUES(10,'turn');
INSERT INTO "names" VALUES(11,'index');
INSERT INTO "names" VALUES(12,'role');
INSERT INTO "names" VALUES(13,'FOLLOWED_BY');
INSERT INTO "names" VALUES(14,'entity');
INSERT INTO "names" VALUES(15,'type');
INSERT INTO "names" VALUES(16,'fact');
INSERT INTO "names" VALUES(17,'ABOUT');
INSERT INTO "names" VALUES(18,'goal');
INSERT INTO "names" VALUES(19,'status');
INSERT INTO "names" VALUES(20,'priority');
INSERT INTO "names" VALUES(21,'DERIVED_FROM');
CREATE TABLE namespaces (
    namespace text not null, id text not null, scale real not null, data blob not null, metadata text not null,
    primary key (namespace, id)
) without rowid;
CREATE TABLE pending (
    content integer not null,
    space integer not null,
    scope integer not null,
    part integer not null,
    primary key (content, space)
) without rowid;
CREATE TABLE receipts (
    receipt integer primary key,
    id text not null unique,
    scope integer not null,
    at integer not null,
    seq integer not null,
    terms blob not null,
    body text not null
);
INSERT INTO "receipts" VALUES(1,'01m7fhg7rbhvaw3j0zybywwytc',1,1794744262400130,16,X'1F939F483813BF72','{"query":"port","recipe":"default","recipe_hash":"16a34ee545d86b3a","k":10,"now":1794744262400130,"valid_at":null,"seq":16,"searched":8,"pending":0,"milliseconds":10.917,"hits":[{"id":"01m7fhg7q5day2p9t04wvrmj2p","version":1,"score":1.313,"why":{"vectors":0.6,"words":0.4,"recency":0.01,"conversation":0.303}},{"id":"01m7fhg7cxkc515y5d5p7dwmsa","version":1,"score":0.864221,"why":{"vectors":0.3456,"words":0.3092,"recency":0.01,"conversation":0.1994}},{"id":"01m7fhg7q2j299wvfyvda2nspf","version":1,"score":0.75443,"why":{"vectors":0.2546,"words":0.2869,"question":-0.1,"recency":0.01,"conversation":0.303}},{"id":"01m7fhg7pyb9wpk6yr344ncesh","version":1,"score":0.720191,"why":{"vectors":0.2059,"words":0.2013,"recency":0.01,"conversation":0.303}},{"id":"01m7fhg7qa5eq4nhh2mrs87q5t","version":1,"score":0.183701,"why":{"vectors":0.1313,"recency":0.01,"conversation":0.0424}},{"id":"01m7fhg7qe84gj9sczafnj7m3f","version":1,"score":0.177051,"why":{"vectors":0.1262,"recency":0.01,"conversation":0.0409}},{"id":"01m7fhg7qkbgj5knq8p4cyn3er","version":1,"score":0.152276,"why":{"vectors":0.1071,"recency":0.01,"conversation":0.0351}},{"id":"01m7fhg7pqbwny2fsaadg59yx3","version":3,"score":0.013,"why":{"recency":0.01,"conversation":0.003}}]}');
CREATE TABLE repeats (
    scope integer not null, key text not null, request blob not null, at integer not null, answer text not null,
    primary key (scope, key)
) without rowid;
CREATE TABLE scopes (
    scope integer primary key autoincrement,  -- never used again after an erasure: the journal names it
    tenant text not null, user text not null, agent text not null,
    unique (tenant, user, agent)
);
INSERT INTO "scopes" VALUES(1,'default','ada','*');
CREATE TABLE shown (record integer not null, receipt integer not null, primary key (record, receipt)) without rowid;
INSERT INTO "shown" VALUES(2,1);
INSERT INTO "shown" VALUES(3,1);
INSERT INTO "shown" VALUES(6,1);
INSERT INTO "shown" VALUES(7,1);
INSERT INTO "shown" VALUES(9,1);
INSERT INTO "shown" VALUES(11,1);
INSERT INTO "shown" VALUES(12,1);
INSERT INTO "shown" VALUES(14,1);
CREATE TABLE spaces (
    space integer primary key,
    model text not null, version text not null, dimension integer not null,
    active integer not null,
    unique (model, version, dimension)
);
INSERT INTO "spaces" VALUES(1,'all-MiniLM-L6-v2','int8-g1',384,1);
CREATE TABLE tombstones (record integer primary key, id text not null, scope integer not null, seq integer not null);
INSERT INTO "tombstones" VALUES(15,'01m7fhg7qq99eeakagbmw2bs7f',1,16);
CREATE TABLE vectors (
    vector integer primary key,
    space integer not null,
    scope integer not null,
    content integer not null,
    part integer not null,
    start integer not null,
    "end" integer not null,
    scale real not null,
    data blob not null
);
INSERT INTO "vectors" VALUES(131072,1,1,2,0,0,28,1.19249135490477544026e-03,X'08E4D4A7ECB5C8CA07F1D50DFBDB17F132E04FFF9713EBD6E00B1A2ECFCA1A30E2EF38350DD7BF3F5C0BF94CDFEDD907E7F8CBEBFB37DCDA180E12F82A34CEB7F8E31D1240E0BD192FC04534D8D528DED3EFB723B60CF2FD17FADCEAA328FE0E21225EFC32D9F00C8FB6E4100BF5E90FF5E71669F1F8E8ECFDFC2D19E1120E001CE70FEA61EFE7E4F53FF4F4D98DCEF4F84AC4E2EAD2CFE45146F4475416FEDE2B091F0AEA0EB51EF2E8C8261F0AC50046DFE6D5F524120BF419F7101A3AFA2447F11CED6820E009003616E91D7E613A1A1C9D3CF90CFAF4D039FA1343E30F00ECF508EDC5D01AFC1708F4EF250EBCBA3401075DEC0E2F0F9B05262AE8DD314CE4E5C6F74D7F1CDEEAF70129C6341C00F6F9FBFDF5E31A23BB2F125944D7D2EF1C14FA09302DF3F4A23103D6A6012864DFFAB2C22D102F2B0EFC13FB9A04BA002FFF0D14A2F115EA361AE1FF000923A9EBD0DFE3EBF137011AF42F15D606291CBEFBDDE501122D1400CEC516D418020DF0ED18EF3DD5422B201EDC27D726F4FA');
INSERT INTO "vectors" VALUES(196608,1,1,3,0,0,23,1.22101135610595454804e-03,X'090E23FDE9F726F3141B1C301FE90220AE71EA0FBB33F30D4E3106F7DACA1D0D0B42ED410A192C0ACD0F04EFEC1EC0D50BF4D982DEF62E32040114FDDE4DCF2141D22962EED818ECC8CDE847F237AAFAF6E010DC1647F6FED5E6BD2626FB20F320E42B1EE0E439B115ED0B24F6E618A2CBD0F04E13E10CE53CDDD917C80306002EF1E6234723B881B10705E9C0EA9DBBFE34CD1ED642D71319D82712E7E1FEEE2A06CE1D06E404260B03DBE4680842F23B2F24220519EB0E0028131BF800DED72924153842E1EF01DF13D1B4050E47F5C637FAFAF5411B4DC319E1171DC6370005E0F64DD7D107BE19232C0708BCE8E90606242809FF2B06F208D21238DD45A8E0E2F8F4F216F737D6E3F82B06D81E08C9BE0B04E3D000B54B71D1D630031AD0FCC9E4CEF7F20B22DB1630CC471429F5980DEF00F11BCC4324FEC6F27007CC001034E205FB04F2ECF8DCF25AC824FAE6CC07F8EBD215FB10FF30EC61DFEF440CAED1FBB1263D0B1CE6C1FF31C1D020D306FD1BE1EBF3092E415C2FEEF0D1FEF0');
INSERT INTO "vectors" VALUES(327680,1,1,5,0,0,24,1.24449828478295039177e-03,X'0AEC3BFCE31D07040C1E0B2B2FEBEB1AC57F142BD119F0073616E705D3CC2628F81DF1620FF60C14D32709FF15FED5EC060C008ABD1D3E55102B22260D2FF7EB38E83156EFCA43F5B3E0D934F339BAFAFAC804E02F0EF9EAFB08C4FA3FE316E9E9F12D18D7F831C30BFEF63AC2DA0CBDCAE1FF350FD1E5F428FEF60AE6E8F700181BF1224532D5DAACE2061AD5CDA59DE72BD72A9643C90706C12CFDFFD8F8F11706C41301EDE31F3A16D0E46E0031E542FF3E38FE1DADF0CB4917280209EB05252918353BF8081AF6FECFC506373EE2D226F700111F1E1ADF1D08161FDB270002D80120CFEB03E0EFEF28E012DAD8E8EDD5090CFAF31824DA31B91C42D8308BD9F4180CD418093AE404C61AF8F41E13F0A90FEDCCC2D5E62463DBF94BE601C0E1CCFCDABFE50122012129C845EB04D598F5E507140FC03C33EBC3D83D1F1A00213F0C1820011A13E6E0D640C92008FBDF04FBFEC912150CD3281756CCE34D14BDF3F2C35151010CCEC00033CFA11CFD0FFC20EFDEEF133118550EF30CD021D5');
INSERT INTO "vectors" VALUES(393216,1,1,6,0,0,5,2.24839983962652270599e-03,X'E20F1727E0D4220DE7F006FBFAF40A010DF1D106E105F708E2E611160EE20F0B2501031CD7E014FFFAEAFFF317EA081515FBE6DCEE093E12F2F91AE6F111DBF009EBD5E5EBDEF700EEFEF20909020AFE07DFF0F70AFE0A19F811DD1713FCCEF31FFCCE7F1B2A0C120200DF0CFBFFFEF4EF07220BF7140D0003FD0106060506001BF3104FF3FEE5E61219141AF9170829EE17F81BEC010B2216F30AD3190CF1ED0518020502E5E700EA0F08F410FE040A040CE80DBF10FBFBF3EE160E1232EFF8DDE90F021FEBE7FE0A08060D0F0112E70711F9051516F1DBFDEBE70D0F04FE003B23D1F3E6FAF232C4070DFA1806100C4214F1F7E500E90000F70017D6F3270AFE10092D07E01ADDF412082CEFE7F30FF409D5E80A0AF904F610FEF501221429FB14F20101F218F9FA0DFA00F5FDF7050015F5FD02F31016FEE70E10F5FEED00FD030B170E0EDCEEF60B2025E203260DF401E5D7FD0209E8FEF7EE0FF702014DEBFCF0F5FF0626FCEC0BFCD0F80A19DDF8DAF11015211E2705F5E9F821151302');
INSERT INTO "vectors" VALUES(458752,1,1,7,0,0,13,1.19724623330934787021e-03,X'C12110FC4EE30901F2E74434A3351AE8F7B0C6E5B00D2206F026A3440DCACE4D26F3E60CF42127EC0EDEE508E7F3DD05F037F917FECA05DCF079660215E4195CF61BD7EEE70DF83B10AE0AF80E0841CDDEF7D3EF10F7118BE1DF41431907F2DDEB27267FE657140413D71D07D3F41026AAC5F7F80513F0356210D409DB150B0033EC053E122E36011CE7501DC9E339B4DB57221AEB560729085112FE10FCD923042507DDE1C9DEF0E51FDFF9C2F3F63431CAFF1FD3D4DC1AFC042A1D164A31C9C528FE1AFBF3B336001BC7CCB4D5FABC0E2527EB5FC938E00BECDCDD3723EF009606B8692EE64C6A0CEF39DE402C0D1A0DCAFF090346E350DA212A37FBA5F1FBE33CE74C03F2F8F40F131B4E24F3CDFE3FDCDDF40D060E0F280414F1D001DA0E2A5FC2F20604C3DD06EBD5F6AF17EEEEEDDAD3EC2845ECF308210BC7F624D800D921B228201E1126FC14C12F41D929D804C80BFBB5F6EE080FE2DD35F50914FFEDF4C8D2C6F825EDE50EF6EBAB211BEEE5C74324E4F24DFB0EDBF4205BB7C539');
INSERT INTO "vectors" VALUES(589824,1,1,9,0,0,8,1.39845215429471232161e-03,X'E324DADFF5FA12F5FDF1311EFC1616EBFCB20624D01CDBCAD117312829B5D226F710DD0546E7F2F71EBE1336E4DE19E41AF1DFF4E733FBD3200303FE3404DB1B06AB0206F101DCFDF7F9250301DA2819FFEBD12EF110EA04E8E0BAFEE702C0F3F8FFF05E2135DBE6E8C6E3231EC9EA11C420F11BF3042505FF17F124CAF21300091F14EC23270714F529BD19D60D1FEDD208D7E8EE10FEED0C03DC0B192AF02A00001CC119EC00FCB3F9BD280FED0EFD1B1DF3CCED3AF4FBEE3BF21C2534E84B2D2235E3251CB6114A1FD928CB1CE3FFBF1D01391BEFFFB51F0DB72159D2EA00CEF2EBEDFCD94509F415DA03630112F50EFE1606F2F66CE0DB0E28C6E41032FE0D28D744372710DE39EFE06ADC13CAD50A0A10FB08E8ED26FD03222B1611BCED05300C22050F18FFC621DE07C015EB15E9F6D0E7180526CE05A30414B1030800261B07F4EA07F0FF21390204E21E4C18C5F3D3ED25F615E8E6CF18360EEA0C05E92BC2F9D3093630FDD0B411F60FFE07D31BE3FC2F1B4010D1F3A52F1F7F4B3B');
INSERT INTO "vectors" VALUES(720896,1,1,11,0,0,3,2.0879399119399662775e-03,X'D7F7F013FE03510AE1EBFBFBD90AF52C1313F4E4F419F10DFF2300D504E2FBCE49FAEFFBF00302FBE10EF5E201F307100E02F217F2F9030314EC02FB14ECFF1C001AF3E407EAEEFEF00124FC24E431FD0323FA072112FBFBF7F303F3EBF6E3F910F1E77FE10FC7EEF0FB01050F0E05EEFB05F509D0FA1A30FF07EC281EEA1500E9F406DF2007F4E4FC1608FCF2FD002A0716EC05092DF11AF8160804301CFDFBDE0EFEEAF1D8ECF1F12BFE030A071111EB16EC12F40FEEDEF61439191D09FDEFD2E108F52BFFFFF8173DCCF842FAEFE3B810191710E4DEE4D911DD0FDA0EF80008ECF4D9F0F6FD0525230AF91C1716082811F01D063CEAF6FC13E622DFFB15FDE0F7EAEFFDE7D30826FFF7351505E00A0701CFEF130503F428E6E721FF0C07FAF9FAFDE9EB063300D117D50EEB00FCE1DED21A44021227160520E2FB0909E500030503FC0413D51DD5FD120AF0121E0C0207EEEAFF110BF9F5ED1D0F0CFE031D17F21013FDFEF9EC06FA1EE403110CCF090300EAF3261503EED0FBFE3603FC07');
INSERT INTO "vectors" VALUES(786432,1,1,12,0,0,14,1.22427201177191546412e-03,X'ACD3C814F6F06F1900D0CE068121123044F1CEF3192ED40E221218B91BF4F9CC7F02CC07FB05EC11E200CDE5E8D8ED104AF0EE4D03E506334201120623F2FE31B543CCC823DE0F2BF0D153161BCB4F040EDDFDFA2129DDF8F5DFFAEDCEE9B70C01C7C86ACB179CD1DCFA081A141B16F11E37EE0ECB064B102119E34926ED640006E411FB2E0A00D9F41100DE18C60C0C11F8BD0B1523D920FA110B143F18D2E9CF35F70ADBF8C7C5F947CDF706F10824F41DE8300736E3DDF013622154E1DAE2B9DEF4FE470702111667B0FF3E05F2FCC2F5360E39D9C0CF9A63C014B30AF100E9DCF3BFD5D911210E1F1607043C41104C2DEB47264BD429D510DF37DFF2FCE9CF12F4F715ECCB0E6A03EB3E2112E229BDF9BFED1B67EBEE53D7EE290B0F13B12018F0B70C1412FCAFF0E62BC2E8EDE6C7C3226613435418001ED8EB0215C600042230D4F030E6DBB5FA1A04DE1B4628F3D0EDE7DCE3052805E20240250D132A070E05CBF4EE15C503EFF6FE262310CB08D0EDCBFB1624FFE499FFFF0CEDDD1B');
INSERT INTO "vectors" VALUES(917504,1,1,14,0,0,16,1.20766132366000207565e-03,X'FEE6FCCFCCE6E5E7EB12EB38B58C34292416FDD79ABFD81FF6F8E5F7D5E6A6F43816EA056310FB0E1717E437DFD3EC1A13F8ED08CFDDD53A082AFEE1020A1207CFC33DE332FED821C4B3DC492BC1FA0902E2EECFC2CDF8EDDEF919154101E141EDC7FC42283B39FB9CF4D938DED322FCFAD813FC9DDE00F35CFD1409B1C70C0019413E0AD4063B06DC09FBEDE5FF69FDFA1E6F044509CD2237141EFE05F3CC42151ED705E5FAFCD63D110BF2511EFAE8EBE4ECE1D460D6DB30F930FF3EC4FE010B02FB0A353FE4ECD32D2BEBA96514210FEBC32D0312027FFB00EF1C11140E00D4FFE225CC011402001907117BE0EB0CD807A520DA46172A37CE1106C33339F5D137E3FD48C1E94118F83DF51E4F17DD0A11D93CE4E830E21B00DCB9D36B1EE420F923ED24E5033000FFC6DD143909C1FCED310E149B27E2F9EFEAFAA1D7E600F124CD184C23C52C41ECE7E5183EBBE3F3E111D4CBF6FD0207D3E4085AFB40C203EE5ADA5553F80D03C9E011D9E8C6CFFB1C07FAE6F21C00C046CBDA20D4FF09');
CREATE TABLE versions (
    version integer primary key,
    record integer not null,
    id text not null,
    number integer not null,
    content integer not null,
    scope integer not null,
    kind integer not null,
    key text,
    conversation integer,
    position integer,
    repository integer,
    status integer not null,
    importance real not null,
    confidence real not null,
    source integer not null,
    valid_from integer not null,
    valid_to integer,
    to_seq integer
);
INSERT INTO "versions" VALUES(2,2,'01m7fhg7cxkc515y5d5p7dwmsa',1,2,1,3,NULL,NULL,NULL,NULL,4,0.5,1.0,5,1794744262042952,NULL,NULL);
INSERT INTO "versions" VALUES(3,3,'01m7fhg7pqbwny2fsaadg59yx3',1,3,1,6,'gitmerge style',NULL,NULL,NULL,4,0.5,1.0,7,1794744262359639,NULL,4);
INSERT INTO "versions" VALUES(4,3,'01m7fhg7pqbwny2fsaadg59yx3',2,3,1,6,'gitmerge style',NULL,NULL,NULL,4,0.5,1.0,7,1794744262359639,1794744262362700,NULL);
INSERT INTO "versions" VALUES(5,3,'01m7fhg7pqbwny2fsaadg59yx3',3,5,1,6,'gitmerge style',NULL,NULL,NULL,4,0.5,1.0,7,1794744262362700,NULL,NULL);
INSERT INTO "versions" VALUES(6,6,'01m7fhg7pyb9wpk6yr344ncesh',1,6,1,10,'c10',1,0,NULL,4,0.5,1.0,5,1794744262366441,NULL,NULL);
INSERT INTO "versions" VALUES(7,7,'01m7fhg7q2j299wvfyvda2nspf',1,7,1,10,'c11',1,1,NULL,4,0.5,1.0,5,1794744262370332,NULL,NULL);
INSERT INTO "versions" VALUES(9,9,'01m7fhg7q5day2p9t04wvrmj2p',1,9,1,10,'c12',1,2,NULL,4,0.5,1.0,5,1794744262373166,NULL,NULL);
INSERT INTO "versions" VALUES(11,11,'01m7fhg7qa5eq4nhh2mrs87q5t',1,11,1,14,'adaperson',NULL,NULL,NULL,4,0.5,1.0,5,1794744262378381,NULL,NULL);
INSERT INTO "versions" VALUES(12,12,'01m7fhg7qe84gj9sczafnj7m3f',1,12,1,16,'claimfa6c53e71de1b8bf22bb69c4c8c2907b',NULL,NULL,NULL,4,0.5,0.8,7,1794744262382781,NULL,NULL);
INSERT INTO "versions" VALUES(14,14,'01m7fhg7qkbgj5knq8p4cyn3er',1,14,1,18,NULL,NULL,NULL,NULL,4,0.5,1.0,5,1794744262387461,NULL,NULL);
CREATE TABLE words (content integer primary key, length integer not null, terms blob not null);
INSERT INTO "words" VALUES(2,4,X'862B22A72D9A59B69650A1ECD9BACD9D1F939F483813BF722A9C128D19AFD6BBC754A451AC063EB76870E49A1FFEFA29010101010101');
INSERT INTO "words" VALUES(3,4,X'9795950813C87E50BB2108A5405EE7FA04F21BF199B7526D010201');
INSERT INTO "words" VALUES(5,4,X'9795950813C87E50BB2108A5405EE7FA04F21BF199B7526D6B597E2BA7C72EC501010101');
INSERT INTO "words" VALUES(6,1,X'A7B6EDA801E5347DF602F7860A55119D0101');
INSERT INTO "words" VALUES(7,1,X'60BF1CCFA0BCABDBF602F7860A55119D1D503307DCEEF42E010101');
INSERT INTO "words" VALUES(9,1,X'1F939F483813BF72F602F7860A55119D0101');
INSERT INTO "words" VALUES(11,1,X'15B0DA432116052701');
INSERT INTO "words" VALUES(12,2,X'15B0DA4321160527DA2AD283AD3E175F0101');
INSERT INTO "words" VALUES(14,2,X'42F93A741D5D3F4C22DD0D478199B3FF0101');
CREATE TABLE working (
    scope integer not null, conversation text not null, key text not null, value text not null,
    expires_at integer not null,
    primary key (scope, conversation, key)
) without rowid;
CREATE INDEX versions_id on versions (id, scope);
CREATE INDEX versions_time on versions (scope, kind, valid_from);
CREATE INDEX versions_key on versions (key, kind, scope) where key is not null;
CREATE INDEX versions_conversation on versions (conversation) where conversation is not null;
CREATE INDEX versions_repository on versions (repository) where repository is not null;
CREATE INDEX links_source on links (source, type);
CREATE INDEX links_target on links (target, type);
CREATE INDEX tombstones_scope on tombstones (scope, seq);
CREATE INDEX fields_content on fields (content);
CREATE INDEX vectors_content on vectors (scope, space, content);
CREATE INDEX receipts_at on receipts (at);
CREATE INDEX receipts_asked on receipts (scope, terms);
CREATE INDEX shown_receipt on shown (receipt);
CREATE INDEX lists_name on lists (scope, conversation, name, item);
CREATE VIEW "turns" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.index') as "index",
    json_extract(c.payload, '$.role') as "role",
    json_extract(c.payload, '$.speaker') as "speaker",
    json_extract(c.payload, '$.token_count') as "token_count",
    json_extract(c.payload, '$.metadata') as "metadata"
from versions v
join names k on k.name = v.kind and k.text = 'turn'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "entities" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.name') as "name",
    json_extract(c.payload, '$.type') as "type",
    json_extract(c.payload, '$.aliases') as "aliases",
    json_extract(c.payload, '$.description') as "description",
    json_extract(c.payload, '$.properties') as "properties"
from versions v
join names k on k.name = v.kind and k.text = 'entity'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "facts" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.source_turn_id') as "source_turn_id",
    json_extract(c.payload, '$.entity_ids') as "entity_ids",
    json_extract(c.payload, '$.subject') as "subject",
    json_extract(c.payload, '$.predicate') as "predicate"
from versions v
join names k on k.name = v.kind and k.text = 'fact'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "tool_calls" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.tool_name') as "tool_name",
    json_extract(c.payload, '$.tool_input') as "tool_input",
    json_extract(c.payload, '$.tool_output') as "tool_output",
    json_extract(c.payload, '$.success') as "success",
    json_extract(c.payload, '$.latency_ms') as "latency_ms",
    json_extract(c.payload, '$.turn_id') as "turn_id",
    json_extract(c.payload, '$.task_type') as "task_type"
from versions v
join names k on k.name = v.kind and k.text = 'tool_call'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "strategies" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.description') as "description",
    json_extract(c.payload, '$.context_pattern') as "context_pattern",
    json_extract(c.payload, '$.tool_sequence') as "tool_sequence",
    json_extract(c.payload, '$.success_count') as "success_count",
    json_extract(c.payload, '$.failure_count') as "failure_count",
    json_extract(c.payload, '$.last_used') as "last_used",
    json_extract(c.payload, '$.worked') as "worked"
from versions v
join names k on k.name = v.kind and k.text = 'strategy'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "reflections" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.type') as "type",
    json_extract(c.payload, '$.outcome') as "outcome",
    json_extract(c.payload, '$.state') as "state"
from versions v
join names k on k.name = v.kind and k.text = 'reflection'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "preferences" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.domain') as "domain",
    json_extract(c.payload, '$.name') as "name",
    json_extract(c.payload, '$.value') as "value"
from versions v
join names k on k.name = v.kind and k.text = 'preference'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "expertises" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.topic') as "topic",
    json_extract(c.payload, '$.level') as "level"
from versions v
join names k on k.name = v.kind and k.text = 'expertise'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "interests" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.topic') as "topic"
from versions v
join names k on k.name = v.kind and k.text = 'interest'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "goals" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.status') as "status",
    json_extract(c.payload, '$.priority') as "priority",
    json_extract(c.payload, '$.parent_goal_id') as "parent_goal_id",
    json_extract(c.payload, '$.deadline') as "deadline",
    json_extract(c.payload, '$.blocked_by') as "blocked_by"
from versions v
join names k on k.name = v.kind and k.text = 'goal'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "tasks" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.status') as "status",
    json_extract(c.payload, '$.goal_id') as "goal_id",
    json_extract(c.payload, '$.depends_on') as "depends_on",
    json_extract(c.payload, '$.result') as "result"
from versions v
join names k on k.name = v.kind and k.text = 'task'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "decisions" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.decided_by') as "decided_by",
    json_extract(c.payload, '$.reason') as "reason",
    json_extract(c.payload, '$.alternatives') as "alternatives",
    json_extract(c.payload, '$.outcome') as "outcome"
from versions v
join names k on k.name = v.kind and k.text = 'decision'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "observations" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.cycle_id') as "cycle_id",
    json_extract(c.payload, '$.run_id') as "run_id",
    json_extract(c.payload, '$.metadata') as "metadata"
from versions v
join names k on k.name = v.kind and k.text = 'observation'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "plans" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.cycle_id') as "cycle_id",
    json_extract(c.payload, '$.run_id') as "run_id",
    json_extract(c.payload, '$.metadata') as "metadata"
from versions v
join names k on k.name = v.kind and k.text = 'plan'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "results" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.cycle_id') as "cycle_id",
    json_extract(c.payload, '$.run_id') as "run_id",
    json_extract(c.payload, '$.metadata') as "metadata"
from versions v
join names k on k.name = v.kind and k.text = 'result'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
CREATE VIEW "summaries" as
select v.id, s.tenant, s.user, s.agent, c.text, status.text as record_status, v.importance, v.confidence,
    source.text as record_source, v.key, conversation.text as conversation_id,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_from / 1e6, 'unixepoch') as valid_from,
    strftime('%Y-%m-%dT%H:%M:%fZ', v.valid_to / 1e6, 'unixepoch') as valid_to,
    strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1e6, 'unixepoch') as recorded_at,
    json_extract(c.payload, '$.cycle_id') as "cycle_id",
    json_extract(c.payload, '$.run_id') as "run_id",
    json_extract(c.payload, '$.metadata') as "metadata"
from versions v
join names k on k.name = v.kind and k.text = 'summary'
join contents c on c.content = v.content
join scopes s on s.scope = v.scope
join names status on status.name = v.status
join names source on source.name = v.source
join journal j on j.seq = v.version
left join labels conversation on conversation.label = v.conversation
where v.to_seq is null and (v.valid_to is null or v.valid_to / 1e6 > (julianday('now') - 2440587.5) * 86400);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('scopes',1);
COMMIT;
PRAGMA application_id = 1634159973;
PRAGMA user_version = 1;
